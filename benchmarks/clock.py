"""Time and memory of this process, and jobs in separate processes."""
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from sympy_constrained.timing import processor_time

HERE = Path(__file__).resolve().parent
RUNS = 5
STARTING = 20                   # seconds for imports and warming up
OVER = 75                       # exit status of a job that takes too long


def timed(function, *arguments):
    """Processor time of one call, and its result."""
    gc.collect()
    began = processor_time()
    result = function(*arguments)
    return processor_time() - began, result


def repeated(prepare, function, patience, runs=RUNS):
    """Median time of calls, each on something newly prepared.

    Fewer runs where one takes long; at least one.
    """
    spent = []
    while not spent or (
            len(spent) < runs and sum(spent) + max(spent) < patience):
        spent.append(timed(function, prepare())[0])
    return median(spent)


def peak_memory():
    """Largest resident memory of this process so far, in megabytes."""
    status = Path('/proc/self/status')
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith('VmHWM'):
                return int(line.split()[1])/1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak/1024 if sys.platform != 'darwin' else peak/1024**2


def isolated(job, arguments, patience, path=()):
    """The result of a job of ``jobs.py`` in a fresh process.

    A dictionary: ``{'over': patience}`` if it took more processor time,
    ``{'missing': name}`` without a module it needs, ``{'failed': message}``
    after an error.
    """
    with tempfile.TemporaryDirectory() as place:
        result = Path(place, 'result.json')
        command = [sys.executable, '-W', 'ignore', str(HERE/'jobs.py'),
                   str(result), job, json.dumps(arguments)]
        try:
            child = subprocess.run(
                command, cwd=place, env=environment(patience, path),
                capture_output=True, text=True,
                timeout=6*(patience + STARTING))
        except subprocess.TimeoutExpired:
            return {'over': patience}
        if result.exists():
            return json.loads(result.read_text())
        if child.returncode == OVER:
            return {'over': patience}
        return {'failed': (child.stderr.strip().splitlines()
                           or [f'exit status {child.returncode}'])[-1]}


def watch(patience):
    """End this process when it has used its time.

    A limit of the operating system would make its clock coarse.
    """
    def wait():
        while processor_time() < patience + STARTING:
            time.sleep(0.5)
        os._exit(OVER)

    threading.Thread(target=wait, daemon=True).start()


def environment(patience, path):
    """One thread for every library, and the same hashes in every run."""
    places = [*path, HERE.parent, HERE, HERE.parent/'tests',
              os.environ.get('PYTHONPATH', '')]
    threads = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
    return {**os.environ, **dict.fromkeys(threads, '1'),
            'PYTHONHASHSEED': '0', 'MPLBACKEND': 'Agg',
            'XLA_FLAGS': '--xla_cpu_multi_thread_eigen=false',
            'BENCH_PATIENCE': str(patience),
            'PYTHONPATH': os.pathsep.join(map(str, filter(None, places)))}
