"""Ranks that tests can give orders to, listen to, and kill: processes that run ``worker.py``."""

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path

from cobre.comm.registry import load
from tests.processes import DEADLINE_S


class Worker:
    """A rank that can be given one group after the other, and that can be killed."""

    def __init__(self, *prefix):
        self.process = subprocess.Popen(
            [*prefix, sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.unread = b""
        self.busy = False

    @property
    def pid(self):
        return self.process.pid

    def begin(self, **trial):
        self.busy = True
        self.process.stdin.write(json.dumps(trial).encode() + b"\n")

    def go_on(self):
        self.process.stdin.write(b"\n")

    def hear(self, within_s=DEADLINE_S):
        """The next fact that it tells."""
        deadline = time.monotonic() + within_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                assert selector.select(max(0.0, deadline - time.monotonic())), "a rank says nothing: it hangs"
                read = os.read(self.process.stdout.fileno(), 65536)
                assert read, "a rank has ended, and its traceback is above"
                self.unread += read
        line, self.unread = self.unread.split(b"\n", 1)
        fact = json.loads(line)
        self.busy = "joined" in fact
        return fact

    def outcome(self):
        """How the trial ended for it."""
        while "joined" in (fact := self.hear()):
            pass
        return fact

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def first_to_speak(workers):
    """Which of them has something to tell first."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        [(key, _), *_] = selector.select(DEADLINE_S)
    return key.data


class Pool:
    """Workers that are replaced when they are killed."""

    def __init__(self):
        self.workers = []

    def idle(self):
        """A worker that has nothing to do."""
        for worker in self.workers:
            if not worker.busy:
                return worker
        self.workers.append(Worker())
        return self.workers[-1]

    def group(self, backend, size, action, *, pause_s=0.0, variables=None, instead=None):
        """Start a trial on so many workers; return them once all have joined.

        ``instead`` maps ranks that do something else than the others to what they do.
        """
        self.workers += [Worker() for _ in range(size - len(self.workers))]
        ranks = self.workers[:size]
        with load(backend).rank_environments(size) as environments:
            for rank, (worker, own) in enumerate(zip(ranks, environments, strict=True)):
                act = (instead or {}).get(rank, action)
                worker.begin(
                    backend=backend, variables={**own, **(variables or {})}, action=act, pause_s=pause_s
                )
            for rank, worker in enumerate(ranks):
                fact = worker.hear()
                assert fact.get("joined") == rank, fact
                worker.joined_at = fact["at"]
        return ranks

    def replace(self, worker):
        """End it, and let another one get ready."""
        worker.end()
        self.workers.remove(worker)
        self.workers.append(Worker())

    def tidy(self):
        """Replace those that are still in a trial, or dead: the next test gets workers that are free."""
        for worker in [*self.workers]:
            if worker.busy:
                self.replace(worker)

    def close(self):
        for worker in self.workers:
            worker.end()
