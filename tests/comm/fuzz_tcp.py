"""Mutated and random bytes against tcp ranks: ``python tests/comm/fuzz_tcp.py --streams 100000``.

The ranks live in a process of their own, so that a crash is seen as one and nothing here counts as theirs;
they are threads of it, many groups after each other. Three kinds of attack:

- before: strangers at rank 0's listener while a group assembles. The group must assemble and answer right.
- after: a rank 1 that holds the secret, and then sends mutated frames on one of its connections.
- hostile: a rank 0 that holds the secret or not, and treats its worker badly at any moment.

In the last two the rank under attack ends with a typed error, or with all its answers where no header was
touched. Memory, descriptors and threads of the process under attack are watched from outside.
"""

import argparse
import contextlib
import json
import queue
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.comm import tcp_format, tcp_peer
from tests.comm.tcp_format import CONTROL, DATA, Call, Frame, Hello, Statement
from tests.comm.tcp_peer import Channel

SECRET = "a secret of the fuzzer"
#: A rank that has not ended by then hangs.
DEADLINE_S = 60.0
#: What a process under attack may grow by, from its first batch to its last. Its allocator keeps something.
GROWTH_BYTES = 64 << 20
#: Groups at a time, and streams until the process under attack is looked at.
PARALLEL, BATCH = 8, 600


# The process under attack.


def serve():
    """Run ranks as the lines of stdin ask for them, each in a thread; one line of stdout for each outcome."""
    import cobre.comm.tcp  # noqa: F401, PLC0415  what a rank needs; the attacking side does not

    telling = threading.Lock()

    def tell(outcome):
        with telling:
            sys.stdout.write(json.dumps(outcome) + "\n")
            sys.stdout.flush()

    def rank(order):
        tell({"id": order["id"], **_be_a_rank(order["config"])})

    tell("ready")
    for line in sys.stdin:
        threading.Thread(target=rank, args=(json.loads(line),), daemon=True).start()


def _be_a_rank(config):
    import numpy as np  # noqa: PLC0415

    from cobre import CobreError  # noqa: PLC0415
    from cobre.comm import TcpConfig, create_communicator  # noqa: PLC0415

    try:
        with create_communicator(TcpConfig(secret=SECRET, **config)) as comm:
            comm.barrier()
            total, gathered, given = np.zeros(4), np.zeros(3 * comm.size, np.int32), np.zeros(5, np.float32)
            comm.allreduce(np.arange(4.0) + comm.rank, total)
            comm.allgatherv(np.full(3, comm.rank, np.int32), gathered, [3] * comm.size)
            if comm.rank == comm.size - 1:
                given[:] = 7
            comm.broadcast(given, comm.size - 1)
            comm.barrier()
            ranks = np.arange(comm.size)
            right = (
                (total == np.arange(4.0) * comm.size + ranks.sum()).all()
                and (gathered == np.repeat(ranks, 3)).all()
                and (given == 7).all()
            )
            return {"outcome": "right" if right else "other numbers"}
    except CobreError as error:
        return {"outcome": type(error).__name__, "words": str(error)}
    except BaseException as error:  # noqa: BLE001  whatever it is, it should not have been
        return {"outcome": "untyped", "words": f"{type(error).__name__}: {error}"}


def frames_of(peer):
    """The same calls by a plain rank of two, with the same numbers."""
    f8, i4, f4 = (tcp_format.element_of(kind, size) for kind, size in (("f", 8), ("i", 4), ("f", 4)))
    rank = peer.rank
    calls = [
        (Call(tcp_format.BARRIER), b""),
        (Call(tcp_format.ALLREDUCE, element=f8, count=4), struct.pack("=4d", *(rank + i for i in range(4)))),
        (
            Call(tcp_format.ALLGATHERV, element=i4, count=6, parts=tcp_format.parts([12, 12])),
            struct.pack("=3i", *[rank] * 3),
        ),
        (
            Call(tcp_format.BROADCAST, root=1, element=f4, count=5),
            struct.pack("=5f", *[7] * 5) if rank == 1 else b"",
        ),
        (Call(tcp_format.BARRIER), b""),
    ]
    return [
        Frame(tcp_format.BRING, peer.sequence + number, call, rank, payload)
        for number, (call, payload) in enumerate(calls, 1)
    ]


class Victim:
    """The process under attack, seen from outside."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert json.loads(self.process.stdout.readline()) == "ready"
        self.at_start = self.usage()
        self._waiting, self._lock, self._next = {}, threading.Lock(), 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            outcome = json.loads(line)
            self._waiting.pop(outcome["id"]).put(outcome)
        for box in list(self._waiting.values()):
            box.put({"outcome": "the process has died"})

    def start(self, rank, size, port, **settings):
        """Start a rank; the outcome comes into the box that this returns."""
        where = {"bind_addr": "127.0.0.1"} if rank == 0 else {"coordinator": "127.0.0.1"}
        config = {"rank": rank, "size": size, "port": port, **where, **settings}
        box = queue.SimpleQueue()
        with self._lock:
            self._next += 1
            self._waiting[self._next] = box
            self.process.stdin.write(json.dumps({"id": self._next, "config": config}) + "\n")
            self.process.stdin.flush()
        return box

    def usage(self):
        folder = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        resident, peak = (int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
        return Usage(resident, peak, len(list((folder / "fd").iterdir())), int(status["Threads"]))

    def close(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE_S)
        self._reader.join()
        self.process.stdout.close()


# Streams.


def mutated(chance, data):
    """The same bytes, changed in one to three places, or others altogether."""
    data = bytearray(data)
    if not data or chance.random() < 0.05:
        return chance.randbytes(chance.randrange(400))
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(data):
                data[at] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF])
            case 2:
                del data[at:]
            case 3:
                data[at:at] = chance.randbytes(chance.randrange(1, 60))
            case 4:
                del data[at : at + chance.randrange(1, 60)]
            case 5:
                data[at : at + 8] = chance.choice([0, 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]).to_bytes(
                    8, "little"
                )
            case 6:
                data[at:at] = data[at : at + chance.randrange(1, 120)]
            case _:
                data[at : at + 4] = chance.randbytes(4)
    return bytes(data)


STRANGERS = [
    b"",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    bytes.fromhex("16030100fa010000f60303") + bytes(range(200)),
    b"\0" * 112,
    b"cobretcp",
    b"SSH-2.0-OpenSSH_9.6\r\n",
]


def stranger(chance, address, recorded, stays):
    """Send one stream without the secret; the connection, if it shall stay open for a while."""
    connection = socket.create_connection(address, DEADLINE_S)
    hello = Hello(
        chance.choice([CONTROL, DATA]), 1, 2, 4711, chance.randbytes(16), chance.randbytes(32)
    ).pack()
    with contextlib.suppress(ConnectionError):
        match chance.randrange(6):
            case 0:
                connection.sendall(mutated(chance, chance.choice(STRANGERS)))
            case 1:
                connection.sendall(mutated(chance, hello + chance.randbytes(32)))
            case 2:
                connection.sendall(hello)
                question = connection.recv(tcp_format.CHALLENGE.size)
                connection.sendall(mutated(chance, tcp_format.proof("a guess", hello, question)))
            case 3:
                connection.sendall(recorded)
            case 4:
                at = chance.randrange(len(hello))
                connection.sendall(hello[:at])
                connection.sendall(hello[at:] + chance.randbytes(chance.randrange(100)))
            case _:
                connection.sendall(hello[: chance.randrange(len(hello))])
                # With a reset instead of an end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    if chance.random() < stays:
        return connection
    connection.close()
    return None


# Attacks. Each returns what it found: (kind, outcome) for each stream, or raises `Broken`.


class Broken(Exception):
    """The ranks did what they promise never to do."""


def outcome_of(box):
    try:
        return box.get(timeout=DEADLINE_S)
    except queue.Empty:
        return {"outcome": "it hangs"}


def attack_before(victim, chance, port, streams):
    """So many strangers, then the missing ranks."""
    address, size = ("127.0.0.1", port), chance.choice([2, 2, 3])
    boxes = [victim.start(0, size, port, timeout_s=DEADLINE_S, connect_timeout_ms=int(DEADLINE_S * 1000))]
    tcp_peer.reach(address).close()
    hello = Hello(CONTROL, 1, size, 4711, chance.randbytes(16), chance.randbytes(32)).pack()
    recorded = hello + tcp_format.proof(SECRET, hello, tcp_format.challenge(chance.randbytes(32)))
    stays = chance.choice([0.02, 0.02, 0.9])  # few stay, or more than rank 0 suffers at its door
    idle = [stranger(chance, address, recorded, stays) for _ in range(streams)]
    boxes += [victim.start(rank, size, port, timeout_s=DEADLINE_S) for rank in range(1, size)]
    outcomes = [outcome_of(box) for box in boxes]
    for connection in idle:
        if connection is not None:
            connection.close()
    if any(outcome["outcome"] != "right" for outcome in outcomes):
        raise Broken(f"strangers disturbed a group: {outcomes}")
    return Counter({("before", "right"): streams})


def judged(kind, outcome, untouched):
    allowed = {"InitializationFailed", "CollectiveFailed"} | (
        {"right", "other numbers"} if untouched else set()
    )
    if outcome["outcome"] not in allowed:
        raise Broken(f"{kind}: {outcome}")
    return Counter({(kind, outcome["outcome"]): 1})


def headers_are_whole(stream, frames):
    """Whether the stream begins with these frames, apart from their payloads."""
    at = 0
    for frame in frames:
        wanted = tcp_format.header(frame, len(frame.payload))
        if stream[at : at + len(wanted)] != wanted:
            return False
        at += len(wanted) + len(frame.payload)
    return len(stream) >= at


def control_frames(chance):
    """What a worker may send on its control connection, and what it may not."""
    statement = Statement(chance.randrange(9), chance.randrange(3), 1, Call(2), (0,), "words").pack()
    tag = chance.choice(
        [tcp_format.REPORT, tcp_format.ANSWER, tcp_format.QUESTION, tcp_format.ABORT, tcp_format.GOODBYE]
    )
    return Frame(tag, chance.randrange(3), Call(2), payload=chance.choice([b"", statement])).pack()


def attack_after(victim, chance, port):
    """As rank 1, with the secret; a mutated hello, or mutated frames."""
    box = victim.start(0, 2, port, timeout_s=1.0, connect_timeout_ms=1000)
    address = ("127.0.0.1", port)
    untouched = False
    try:
        if chance.random() < 0.1:
            hello = Hello(CONTROL, 1, 2, 4711, chance.randbytes(16), chance.randbytes(32)).pack()
            at = chance.randrange(len(hello))
            hello = hello[:at] + chance.randbytes(1) + hello[at + 1 :]
            with contextlib.closing(Channel(tcp_peer.reach(address))) as channel:
                tcp_peer.introduce(channel, SECRET, hello)
                channel.ended()
        else:
            with tcp_peer.join(address, SECRET, 1, 2, pid=4711) as peer:
                if chance.random() < 0.9:
                    peer.start()  # else all that follows is for the wrong collective
                frames = frames_of(peer)
                stream = b"".join(frame.pack() for frame in frames)
                if chance.random() < 0.3:
                    untouched = True  # what the control connection brings may come too late to matter
                    peer.control.write(mutated(chance, control_frames(chance)))
                else:
                    stream = mutated(chance, stream)
                    untouched = headers_are_whole(stream, frames)
                peer.data.write(stream)
                _linger(chance, peer)
    except (OSError, tcp_format.Unexpected, tcp_peer.Refused):
        pass  # the rank under attack has ended the conversation, as it should
    return judged("after", outcome_of(box), untouched)


def _linger(chance, peer):
    """End at once, or when the other side does; seldom, since that may take its whole timeout."""
    if chance.random() < 0.02:
        peer.data.socket.settimeout(DEADLINE_S)
        while peer.data.socket.recv(1 << 16):
            pass


def attack_hostile(victim, chance, port):
    """As rank 0 of 2; worse and worse, the longer the worker believes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        box = victim.start(1, 2, listener.getsockname()[1], timeout_s=1.0, connect_timeout_ms=300)
        moment = chance.choice(["hello", "challenge", "verdict", "begin", "data", "control"])
        untouched = False
        with contextlib.suppress(OSError, tcp_format.Unexpected):
            if moment in ("begin", "data", "control"):
                untouched = _be_a_bad_rank_0(chance, listener, moment)
        listener.settimeout(0.02)
        while box.empty():  # it comes again as long as it may be somebody else's mistake
            with contextlib.suppress(OSError, tcp_format.Unexpected):
                _mislead(chance, listener, moment)
    return judged("hostile", outcome_of(box), untouched)


def _mislead(chance, listener, moment):
    with contextlib.closing(Channel(listener.accept()[0])) as channel:
        channel.socket.settimeout(1.0)
        hello = channel.read(Hello.LAYOUT.size)
        if moment == "hello":
            channel.write(chance.randbytes(chance.randrange(200)))
            return
        question = tcp_format.challenge(chance.randbytes(32))
        if moment == "challenge":
            channel.write(mutated(chance, question))
            return
        channel.write(question)
        channel.read(32)
        status, text = chance.choice([(0, ""), (1, ""), (2, "no"), (2, "é" * 200)])
        channel.write(mutated(chance, tcp_format.verdict(SECRET, hello, question, status, text)))
        if chance.random() < 0.5:
            channel.ended()


def _be_a_bad_rank_0(chance, listener, moment):
    """Whether the headers were right, where that is known."""
    begin = (lambda data: mutated(chance, data)) if moment == "begin" else (lambda data: data)
    with tcp_peer.coordinate(listener, SECRET, 4710, begin) as peer:
        if chance.random() < 0.9:
            peer.start()  # else all that follows is for the wrong collective
        frames = frames_of(peer)
        stream = b"".join(frame.pack() for frame in frames)
        if moment == "data":
            changed = mutated(chance, stream)
            peer.data.write(changed)
            return headers_are_whole(changed, frames)
        if moment == "control":
            peer.control.write(mutated(chance, control_frames(chance)))
        peer.data.write(stream)
        return True


def attack(streams, seed, report=lambda text: None):
    """Throw so many streams; what came of them, what the process used after each batch, and the seconds."""
    victim, counts, uses = Victim(), Counter(), []
    began = time.monotonic()
    try:
        with contextlib.ExitStack() as reserved, ThreadPoolExecutor(PARALLEL) as pool:
            ports = queue.SimpleQueue()
            for _ in range(PARALLEL):
                ports.put(_free_port(reserved))
            for batch in range(-(-streams // BATCH)):
                counts += _batch(victim, random.Random(f"{seed}/{batch}"), ports, pool)
                uses.append(_at_rest(victim, uses))
                report(f"{counts.total()} streams; {uses[-1]}")
    finally:
        victim.close()
    return counts, uses, time.monotonic() - began


def _free_port(reserved):
    """Bound, and never listened to, so that it stays free for a rank 0."""
    holder = reserved.enter_context(socket.socket())
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder.getsockname()[1]


def _batch(victim, chance, ports, pool):
    """Two thirds of the streams are strangers', in two groups; each other stream has a group of its own."""

    def run(attack, chance, *arguments):
        port = ports.get()
        try:
            return attack(victim, chance, port, *arguments)
        finally:
            ports.put(port)

    strangers, alone = BATCH // 3, BATCH // 6
    jobs = [(attack_before, strangers)] * 2 + [(attack_after,)] * alone + [(attack_hostile,)] * alone
    chance.shuffle(jobs)
    found = [pool.submit(run, job[0], random.Random(chance.random()), *job[1:]) for job in jobs]
    return sum((job.result() for job in found), Counter())


class Usage(NamedTuple):
    """Of the process under attack, between two batches."""

    resident: int
    peak: int
    descriptors: int
    threads: int


def _at_rest(victim, uses):
    """What it uses once the last rank has ended: nothing that it had not at its start, and no more memory."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        if victim.process.poll() is not None:
            raise Broken(f"the process under attack has died: {victim.process.returncode}")
        usage = victim.usage()
        if (usage.threads, usage.descriptors) == (victim.at_start.threads, victim.at_start.descriptors):
            break
        if time.monotonic() > deadline:
            raise Broken(f"descriptors or threads are left: {usage}, {victim.at_start} at the start")
        time.sleep(0.01)
    warm = uses[0] if uses else usage
    if usage.resident > warm.resident + GROWTH_BYTES or usage.peak > warm.peak + GROWTH_BYTES:
        raise Broken(f"memory grows: {usage}, {warm} after the first batch")
    return usage


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return

    def say(text):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    counts, uses, seconds = attack(options.streams, options.seed, say)
    for (kind, outcome), count in sorted(counts.items()):
        say(f"{kind:8} {outcome:22} {count:8}")
    say(f"{counts.total()} streams in {seconds:.0f} s, {counts.total() / seconds * 60:.0f} a minute")
    say(f"after the first batch: {uses[0]}\nafter the last:        {uses[-1]}")


if __name__ == "__main__":
    main()
