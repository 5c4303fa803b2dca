"""A tcp rank in plain sockets, as docs/reference/tcp-wire-format.md describes it.

It shares no line with the backend, so where the two understand each other the document is right. It waits
for nobody longer than `DEADLINE_S`, and moves whole payloads at once.
"""

import contextlib
import itertools
import json
import os
import socket
import struct
import time
from dataclasses import replace

from tests.comm.tcp_format import (
    ALLGATHERV,
    ALLREDUCE,
    BARRIER,
    BEGIN,
    BRING,
    BROADCAST,
    CHALLENGE,
    CONTROL,
    CREATE_SHARED_REGION,
    DATA,
    DIRECT,
    GOODBYE,
    HEADER_BYTES,
    MIN,
    RESULT,
    SPLIT_LOCAL,
    SUM,
    VERDICT,
    WELCOME,
    Call,
    Frame,
    Hello,
    Unexpected,
    challenge,
    combined,
    element_of,
    expect,
    parts,
    proof,
    size_of,
    unpack_header,
    verdict,
)

#: Far more than anything takes, even where other work keeps all processors busy.
DEADLINE_S = 60.0


class Refused(Exception):
    """The server's verdict is not a welcome."""

    def __init__(self, status, text):
        super().__init__(status, text)
        self.status, self.text = status, text


class Channel:
    """A connection that remembers every byte that came."""

    def __init__(self, connection):
        connection.settimeout(DEADLINE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connection
        self.heard = bytearray()

    def read(self, count):
        """Exactly so many bytes."""
        start = len(self.heard)
        while len(self.heard) - start < count:
            piece = self.socket.recv(min(1 << 20, start + count - len(self.heard)))
            if not piece:
                raise Unexpected(f"the connection ended after {len(self.heard) - start} of {count} bytes")
            self.heard += piece
        return bytes(self.heard[start:])

    def write(self, data):
        self.socket.sendall(data)

    def read_frame(self):
        frame, length = unpack_header(self.read(HEADER_BYTES))
        return frame._replace(payload=self.read(length))

    def ended(self):
        """Wait for the other side to close, and whether it has said nothing more; a reset is an end too."""
        with contextlib.suppress(ConnectionResetError):
            return self.socket.recv(1) == b""
        return True

    def close(self):
        self.socket.close()


def reach(address):
    """A connection, as soon as somebody listens."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return socket.create_connection(address, DEADLINE_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)


def connect(address, secret, hello):
    """The handshake as a client; ``hello`` is sent as it is, right or wrong."""
    channel = Channel(reach(address))
    try:
        introduce(channel, secret, hello.pack())
    except BaseException:
        channel.close()
        raise
    return channel


def introduce(channel, secret, hello):
    channel.write(hello)
    question = channel.read(CHALLENGE.size)
    _, version, byte_order, nonce = CHALLENGE.unpack(question)
    expect(question, challenge(nonce, version, byte_order), "a challenge")
    channel.write(proof(secret, hello, question))
    start = channel.read(VERDICT.size)
    status, length = VERDICT.unpack(start)
    rest = channel.read(32 + length)
    text = rest[32:].decode()
    expect(start + rest, verdict(secret, hello, question, status, text), "a verdict")
    if status != WELCOME:
        raise Refused(status, text)


def accept(listener, secret):
    """The handshake as a server, up to the proof: the channel, the hello, and the challenge."""
    listener.settimeout(DEADLINE_S)
    channel = Channel(listener.accept()[0])
    try:
        hello = Hello.unpack(channel.read(Hello.LAYOUT.size))
        question = challenge(os.urandom(32))
        channel.write(question)
        expect(channel.read(32), proof(secret, hello.pack(), question), "a proof")
    except BaseException:
        channel.close()
        raise
    return channel, hello, question


# Ranks.


class Rank:
    """A member with two connections, which counts its collectives."""

    def __init__(self, rank, size, control, data, member):
        self.rank, self.size, self.control, self.data, self.member = rank, size, control, data, member
        self.sequence = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang_up()

    def hang_up(self):
        """End both connections without a word, as a crash does."""
        self.control.close()
        self.data.close()

    def say_goodbye(self):
        for channel in (self.control, self.data):
            channel.write(Frame(GOODBYE).pack())

    def hear_goodbye(self):
        for channel in (self.control, self.data):
            expect(channel.read_frame(), Frame(GOODBYE), "the last frame")

    def bring(self, call, payload=b""):
        """Begin a collective, on the data connection."""
        self.sequence += 1
        self.data.write(self.frame(BRING, call, payload).pack())

    def frame(self, tag, call, payload=b"", part=None):
        return Frame(tag, self.sequence, call, self.rank if part is None else part, payload)

    def hear(self, channel, tag, call, part, length):
        """The payload of the next frame, which must be this one."""
        frame = channel.read_frame()
        expect(frame, Frame(tag, self.sequence, call, part, frame.payload), "a frame")
        expect(len(frame.payload), length, "the length of a payload")
        return frame.payload

    def start(self, host=b"plain"):
        """The first two collectives of every group, by which all learn which ranks share a machine."""
        i8, u1 = element_of("i", 8), element_of("u", 1)
        sizes = self.allgatherv(struct.pack("=q", len(host)), [8] * self.size, i8)
        lengths = [struct.unpack("=q", size)[0] for size in sizes]
        return self.allgatherv(host, lengths, u1)

    # The public calls. Data are bytes; each returns what the call gives to this rank.

    def allgatherv(self, mine, lengths, element):
        """The parts of all ranks, in rank order; ``lengths`` are in bytes."""
        total = sum(lengths) // size_of(element)
        return self._gather(
            Call(ALLGATHERV, element=element, count=total, parts=parts(lengths)), mine, lengths
        )

    def allreduce(self, mine, element, reduction=SUM):
        call = Call(ALLREDUCE, reduction, element=element, count=len(mine) // size_of(element))
        return self._reduce(call, mine, element)

    def broadcast(self, mine, element, root=0):
        """The root's data; of what the others give only the length counts."""
        call = Call(BROADCAST, root=root, element=element, count=len(mine) // size_of(element))
        return self._spread(call, mine)

    def create_shared_region(self, count, element):
        """Whether all ranks have memory for it."""
        self._spread(Call(CREATE_SHARED_REGION, element=element, count=count), bytes(8))
        return self._reduce(Call(ALLREDUCE, MIN), b"\1", element_of("u", 1)) == b"\1"

    def split_local(self):
        self._spread(Call(SPLIT_LOCAL), bytes(8))


class StarWorker(Rank):
    """Everything goes to rank 0, and comes from there."""

    def barrier(self):
        self.bring(Call(BARRIER))
        self.hear(self.data, RESULT, Call(BARRIER), 0, 0)

    def _gather(self, call, mine, lengths):
        self.bring(call, mine)
        gathered = {self.rank: mine}
        while len(gathered) < self.size:
            frame = self.data.read_frame()
            expect(frame, Frame(RESULT, self.sequence, call, frame.part, frame.payload), "a frame")
            expect(frame.part in set(range(self.size)) - gathered.keys(), True, "a part that is missing")
            expect(len(frame.payload), lengths[frame.part], "the length of a part")
            gathered[frame.part] = frame.payload
        return [gathered[rank] for rank in range(self.size)]

    def _reduce(self, call, mine, element):
        self.bring(call, mine)
        return self.hear(self.data, RESULT, call, 0, len(mine))

    def _spread(self, call, mine):
        is_root = self.rank == call.root
        self.bring(call, mine if is_root else b"")
        theirs = self.hear(self.data, RESULT, call, 0, 0 if is_root else len(mine))
        return mine if is_root else theirs


class DirectRank(Rank):
    """Connected with everybody, as one of two always is."""

    def __init__(self, *arguments, links):
        super().__init__(*arguments)
        self.links = links

    def hang_up(self):
        super().hang_up()
        for channel in self.links.values():
            channel.close()

    def barrier(self):
        self._gather(Call(BARRIER), b"", [0] * self.size)

    def _gather(self, call, mine, lengths):
        self.sequence += 1
        for channel in self.links.values():
            channel.write(self.frame(BRING, call, mine).pack())
        gathered = {
            peer: self.hear(link, BRING, call, peer, lengths[peer]) for peer, link in self.links.items()
        }
        return [mine if rank == self.rank else gathered[rank] for rank in range(self.size)]

    def _reduce(self, call, mine, element):
        if self.size == 2 or len(mine) <= 16 << 10:
            return combined(self._gather(call, mine, [len(mine)] * self.size), element, call.reduction)
        self.sequence += 1
        itemsize = size_of(element)
        own = shares(mine, self.size, itemsize)
        for peer, link in self.links.items():
            link.write(self.frame(BRING, call, own[peer], part=peer).pack())
        operands = {
            peer: self.hear(link, BRING, call, self.rank, len(own[self.rank]))
            for peer, link in self.links.items()
        }
        operands[self.rank] = own[self.rank]
        results = {
            self.rank: combined([operands[rank] for rank in range(self.size)], element, call.reduction)
        }
        for link in self.links.values():
            link.write(self.frame(RESULT, call, results[self.rank]).pack())
        for peer, link in self.links.items():
            results[peer] = self.hear(link, RESULT, call, peer, len(own[peer]))
        return b"".join(results[rank] for rank in range(self.size))

    def _spread(self, call, mine):
        self.sequence += 1
        if self.size > 2 and len(mine) > 64 << 10:
            return self._spread_shares(call, mine)
        is_root = self.rank == call.root
        for peer, link in self.links.items():
            if is_root or peer in (call.root, 0):
                link.write(self.frame(BRING, call, mine if is_root else b"").pack())
        received = mine
        for peer, link in self.links.items():
            if peer == call.root:
                received = self.hear(link, BRING, call, peer, len(mine))
            elif is_root or self.rank == 0:
                self.hear(link, BRING, call, peer, 0)
        return received

    def _spread_shares(self, call, mine):
        others = [rank for rank in range(self.size) if rank != call.root]
        share = dict(zip(others, shares(mine, len(others), 1), strict=True))
        if self.rank == call.root:
            for peer, link in self.links.items():
                link.write(self.frame(BRING, call, share[peer], part=peer).pack())
            for peer, link in self.links.items():
                self.hear(link, BRING, call, peer, 0)
            return mine
        root = self.links[call.root]
        root.write(self.frame(BRING, call).pack())
        came = {self.rank: self.hear(root, BRING, call, self.rank, len(share[self.rank]))}
        for peer, link in self.links.items():
            if peer != call.root:
                link.write(self.frame(RESULT, call, came[self.rank]).pack())
        for peer, link in self.links.items():
            if peer != call.root:
                came[peer] = self.hear(link, RESULT, call, peer, len(share[peer]))
        return b"".join(came[rank] for rank in others)


def shares(data, count, itemsize):
    """The data in so many shares; if it does not come out even, the first ones have an element more."""
    least, more = divmod(len(data) // itemsize, count)
    ends = [(least * i + min(i, more)) * itemsize for i in range(count + 1)]
    return [data[start:end] for start, end in itertools.pairwise(ends)]


def knock(address, secret, rank, size, pid, *, port=0):
    """The two connections of a worker, after their handshakes: `begun` makes a rank of them."""
    member, opened = os.urandom(16), []
    try:
        for channel in (CONTROL, DATA):
            hello = Hello(channel, rank, size, pid, member, os.urandom(32), port)
            opened.append(connect(address, secret, hello))
    except BaseException:
        for channel in opened:
            channel.close()
        raise
    return Rank(rank, size, *opened, member)


def hear_begin(waiting, topology):
    """The members, as rank 0 names them when the group is complete."""
    begin = waiting.control.read_frame()
    expect(begin, Frame(BEGIN, payload=begin.payload), "the begin")
    told = json.loads(begin.payload)
    expect(told["topology"], topology, "the topology")
    expect(len(told["members"]), waiting.size, "the number of members")
    expect(told["members"][waiting.rank]["member"], waiting.member.hex(), "this rank in the begin")
    return told["members"]


def begun(waiting):
    """The rank, once the group is complete."""
    try:
        hear_begin(waiting, "star")
    except BaseException:
        waiting.hang_up()
        raise
    identity = waiting.rank, waiting.size, waiting.control, waiting.data, waiting.member
    return DirectRank(*identity, links={0: waiting.data}) if waiting.size == 2 else StarWorker(*identity)


def join(address, secret, rank, size, pid):
    """Join the group of a rank 0 as the process ``pid``, and wait until it begins."""
    return begun(knock(address, secret, rank, size, pid))


def join_directly(address, secret, rank, size, pid, *, before_connecting=lambda address: None):
    """The same, with connections to all other ranks; ``before_connecting`` is told where to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        waiting = knock(address, secret, rank, size, pid, port=listener.getsockname()[1])
        identity = rank, size, waiting.control, waiting.data, waiting.member
        worker = DirectRank(*identity, links={0: waiting.data})
        try:
            members = hear_begin(waiting, "direct")
            # The higher of two ranks comes to the lower one; each is the member that rank 0 has named.
            for peer in range(1, rank):
                theirs = members[peer]["host"], members[peer]["port"]
                before_connecting(theirs)
                hello = Hello(DIRECT, rank, size, pid, waiting.member, os.urandom(32))
                worker.links[peer] = connect(theirs, secret, hello)
            while len(worker.links) < size - 1:
                channel, guest, question = accept(listener, secret)
                worker.links[guest.rank] = channel
                expect(guest.channel, DIRECT, "the channel")
                expect(guest.member.hex(), members[guest.rank]["member"], "who connects")
                channel.write(verdict(secret, guest.pack(), question))
            star = StarWorker(*identity)
            expect(star._reduce(Call(ALLREDUCE, MIN), b"\1", element_of("u", 1)), b"\1", "what all say")
            worker.sequence = star.sequence
        except BaseException:
            worker.hang_up()
            raise
        return worker


def coordinate(listener, secret, pid, change_begin=lambda begin: begin):
    """Be rank 0 of 2 as the process ``pid``: let rank 1 in, on both of its connections, and begin."""
    opened = {}
    try:
        while len(opened) < 2:
            channel, hello, question = accept(listener, secret)
            opened[hello.channel] = channel, hello
            channel.write(verdict(secret, hello.pack(), question))
        (control, hello), (data, twin) = opened[CONTROL], opened[DATA]
        expect(twin, replace(hello, channel=DATA, nonce=twin.nonce), "the hello on the data connection")
        members = [
            {"pid": pid, "host": "127.0.0.1", "port": 0, "member": ""},
            {"pid": hello.pid, "host": "127.0.0.1", "port": hello.port, "member": hello.member.hex()},
        ]
        told = json.dumps({"topology": "star", "members": members})
        control.write(change_begin(Frame(BEGIN, payload=told.encode()).pack()))
    except BaseException:
        for channel, _ in opened.values():
            channel.close()
        raise
    return DirectRank(0, 2, control, data, b"", links={1: data})
