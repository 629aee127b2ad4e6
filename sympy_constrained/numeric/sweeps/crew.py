"""Processes that make the runs of a sweep, and are replaced when they die.

The executors of ``concurrent.futures`` give up all that they have begun when
one of their processes dies. Here each process has a pipe of its own and sends
every outcome by itself, so that it is known which run it was making. That run
is lost, and the others are made by another process.
"""
from __future__ import annotations

import os
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from time import monotonic, sleep
from typing import Any

from .interrupt import Interruption
from .jobs import Outcome, failure, unpacked

__all__ = ['Crew', 'GRACE']

# Seconds for runs that are interrupted to return what they have, and after
# which it is asked whether they are.
GRACE, PATIENCE = 2., 0.1
READY = 'ready'


# -- in a process ------------------------------------------------------------

class Stopping:
    """An interruption ends the run that is being made, once."""

    def __init__(self):
        self.is_asked = self.is_busy = False

    def __call__(self, number, frame):
        is_first, self.is_asked = not self.is_asked, True
        if self.is_busy and is_first:
            raise KeyboardInterrupt

    def outcome(self, job, task):
        self.is_busy = True
        try:
            return job.outcome(task)
        finally:
            self.is_busy = False


def leave_with_user():
    """End soon after the user's process has, whatever is being done."""
    wait([parent_process().sentinel])
    os.kill(os.getpid(), signal.SIGINT)
    sleep(GRACE)
    os._exit(1)


def serve(connection, users, packed):
    """Make the runs that come, until there are none or the user is gone."""
    users.close()               # so that the pipe ends with the user's process
    Thread(target=leave_with_user, daemon=True).start()
    stopping = Stopping()
    signal.signal(signal.SIGINT, stopping)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        try:
            job = unpacked(packed)
        except Exception as error:      # a function that is not there
            connection.send(failure(error)['error'])
            return
        connection.send(READY)
        for tasks in iter(connection.recv, None):
            for task in tasks:
                if not stopping.is_asked:
                    tell(connection, stopping.outcome(job, task))
            if stopping.is_asked:
                return


def tell(connection, outcome):
    """Send an outcome, or that its value cannot be pickled."""
    try:
        connection.send(outcome)
    except OSError:                     # the user is gone
        raise
    except Exception as error:
        connection.send(Outcome(outcome.index, **failure(error)))


# -- in the process of the user ----------------------------------------------

@dataclass(eq=False)
class Worker:
    """A process, its pipe, and the runs that it has still to make."""

    process: Any
    connection: Connection
    tasks: deque = field(default_factory=deque)
    is_ready: bool = False


class Crew:
    """So many processes for one sweep.

    Parameters
    ==========

    count : int
    packed : bytes
        The job.
    chunks : list of list of Task

    """

    def __init__(self, count, packed, chunks):
        self.count, self.packed = min(count, len(chunks)), packed
        self.chunks = deque(chunks)
        self.context = get_context()
        self.workers: dict[Connection, Worker] = {}
        self.leaving: list[Worker] = []
        self.said: deque[Outcome] = deque()     # and not told yet
        self.cause, self.is_asked = '', False

    def outcomes(self):
        """An outcome for each task as they come, fewer if interrupted.

        Nothing is interrupted while a process is begun or heard, for what it
        says would be torn.
        """
        with Interruption() as interruption:
            try:
                interruption.hold()
                for _ in range(self.count):
                    self.hire()
                while self.workers:
                    interruption.hold()
                    self.hear(wait(list(self.workers), PATIENCE))
                    interruption.release()
                    yield from self.told()
                self.give_up()
                yield from self.told()
            except KeyboardInterrupt:
                interruption.hold()
                self.interrupt()
                yield from self.told()
            finally:
                self.dismiss()

    def told(self):
        """What has been said; what nobody took is told again."""
        while self.said:
            yield self.said[0]
            self.said.popleft()

    def hire(self):
        """One process more."""
        mine, its = self.context.Pipe()
        process = self.context.Process(
            target=serve, args=(its, mine, self.packed))
        process.start()
        its.close()             # so that its end is the end of the pipe
        self.workers[mine] = Worker(process, mine)

    def hear(self, connections):
        """Take what the processes have to say."""
        for connection in connections:
            worker = self.workers[connection]
            try:
                said = connection.recv()
            except (EOFError, OSError):
                self.bury(worker)
                continue
            except Exception as error:          # a value of an unknown class
                said = Outcome(worker.tasks[0].index, **failure(error))
            if isinstance(said, Outcome):
                worker.tasks.popleft()
                self.said.append(said)
            elif said == READY:
                worker.is_ready = True
            else:
                self.cause = said
                continue                        # it ends by itself
            self.employ(worker)

    def employ(self, worker):
        """Give a process something to do, or let it go."""
        if worker.tasks:
            return
        tasks = self.chunks[0] if self.chunks else None
        with suppress(OSError):                 # it has died since
            worker.connection.send(tasks)
            if tasks:
                worker.tasks = deque(self.chunks.popleft())
        if tasks is None:
            del self.workers[worker.connection]
            self.leaving.append(worker)

    def bury(self, worker):
        """A process has died: the run that it was making is lost."""
        del self.workers[worker.connection]
        worker.connection.close()
        text = f'The process that made this run {ended(worker.process)}.'
        if not worker.is_ready:
            self.cause = self.cause or text
            return
        if worker.tasks:
            self.said.append(Outcome(worker.tasks.popleft().index,
                                     error=text, reason='LOST'))
        if worker.tasks:
            self.chunks.appendleft(list(worker.tasks))
        if self.chunks:
            self.hire()

    def give_up(self):
        """Nobody is left to make what is left."""
        self.said += [Outcome(task.index, reason='LOST', error=(
            f'No process could begin: {self.cause}'))
            for tasks in self.chunks for task in tasks]

    def interrupt(self):
        """Take what the runs have that are interrupted, within a moment."""
        self.ask()
        end = monotonic() + GRACE
        asked = {connection for connection, worker in self.workers.items()
                 if worker.tasks}
        while asked and monotonic() < end:
            for connection in wait(list(asked), max(0., end - monotonic())):
                try:
                    said = connection.recv()
                except Exception:               # it has nothing more to say
                    asked.remove(connection)
                    continue
                if isinstance(said, Outcome):
                    self.said.append(said)

    def ask(self):
        """Interrupt the runs, so that they leave no files behind."""
        for worker in self.workers.values():
            if worker.is_ready:
                with suppress(OSError):
                    os.kill(worker.process.pid, signal.SIGINT)
        self.is_asked = True

    def dismiss(self):
        """Let no process outlive the sweep."""
        if not self.is_asked:
            self.ask()
            last = monotonic() + GRACE
            while monotonic() < last and any(
                    worker.is_ready and worker.process.exitcode is None
                    for worker in self.workers.values()):
                sleep(0.001)
        for worker in self.workers.values():
            worker.process.kill()
        for worker in (*self.workers.values(), *self.leaving):
            ended(worker.process)
            worker.connection.close()


def ended(process):
    """End a process that does not end by itself, and tell how it went.

    A run may have closed all files, so that its pipe and what ``join`` waits
    for say that the process is gone.
    """
    last = monotonic() + GRACE
    while process.exitcode is None and monotonic() < last:
        sleep(0.001)
    if process.exitcode is not None:
        return end(process)
    process.kill()
    process.join()
    return 'was silent and had to be ended'


def end(process):
    """How a process has ended."""
    code = process.exitcode
    if code >= 0:
        return f'ended with the status {code}'
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-code, f'signal {-code}')
    return f'was killed by {name}' + (
        ', perhaps for want of memory' if name == 'SIGKILL' else '')
