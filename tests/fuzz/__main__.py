"""``python -m fuzz N``: N random mechanisms, each in a random writing.

Progress and failures are printed as they come, the summary at the end. Call
``examine(*drawn(seed))`` of ``fuzz.check`` for a seed that failed. A campaign
that was stopped goes on where it was if it is given the same file.
"""
import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from fuzz.check import Finding, drawn, examine, summary

CHUNK = 20
REPORT = 60                     # seconds between lines


def run(seeds):
    """Findings of some seeds."""
    return [(seed, vars(examine(*drawn(seed), every=False)))
            for seed in seeds]


def main():
    parser = argparse.ArgumentParser(prog='fuzz', description=__doc__)
    parser.add_argument('count', type=int)
    parser.add_argument('--first', type=int, default=0, help='first seed')
    parser.add_argument('--workers', type=int)
    parser.add_argument('--file', type=Path, default=Path('build/fuzz.jsonl'))
    given = parser.parse_args()
    given.file.parent.mkdir(parents=True, exist_ok=True)
    findings = {}
    if given.file.exists():
        for line in given.file.read_text().splitlines():
            found = json.loads(line)
            seed = found.pop('seed')
            findings[seed] = Finding(**found)
    seeds = [seed for seed in range(given.first, given.first + given.count)
             if seed not in findings]
    chunks = [seeds[i:i + CHUNK] for i in range(0, len(seeds), CHUNK)]
    began = told = time.monotonic()
    with ProcessPoolExecutor(given.workers) as pool, given.file.open(
            'a') as file:
        waiting = [pool.submit(run, chunk) for chunk in chunks]
        for future in as_completed(waiting):
            for seed, found in future.result():
                findings[seed] = Finding(**found)
                print(json.dumps({'seed': seed, **found}), file=file)
                if found['failures']:
                    print(f'seed {seed}:', *found['failures'], *drawn(seed),
                          sep='\n  ', flush=True)
            file.flush()
            if time.monotonic() - told > REPORT:
                told = time.monotonic()
                print(f'{len(findings)} mechanisms, {told - began:.0f} s',
                      flush=True)
    print(summary(findings.values()))
    failed = [seed for seed, found in findings.items() if found.failures]
    slowest = max(findings, key=lambda seed: findings[seed].seconds)
    print(f'{len(findings)} mechanisms, {len(failed)} failed, '
          f'{time.monotonic() - began:.0f} s; the slowest, {slowest}, took '
          f'{findings[slowest].seconds:.0f} s')
    return bool(failed)


if __name__ == '__main__':
    raise SystemExit(main())
