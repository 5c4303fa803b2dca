"""The meeting of the shm backend as a model, run through every interleaving.

Each rank is a little program of atomic actions on shared words, as in ``native/core/shm/group.cpp``:
write the slot, post the step, wake sleepers if there are any, wait for every peer (look; announce
oneself as a sleeper, look again, sleep), read the peers' slots. The explorer visits every state that
any order of these actions can reach. It finds a rank asleep for ever, a rank that reads another step's
data, and a rank that overtakes. Words are read and written in one order for all, which is what the
sequentially consistent post and look at the sleepers give the real thing.

The mutants show that the model can tell: each leaves out one precaution, and each is caught.
"""

from dataclasses import dataclass, replace

import pytest

STEPS = 3


@dataclass(frozen=True)
class Rules:
    """What the protocol does; a mutant leaves one thing out."""

    slots: int = 2  # used in turn
    announces: bool = True  # so that the one it waits for knows to wake it
    checks_word: bool = True  # the kernel sleeps only if the word is still what was seen
    waits_for_all: bool = True


@dataclass(frozen=True)
class Rank:
    step: int = 0
    at: str = "write"  # the next action
    peer: int = 0  # whom it waits for or reads
    seen: int = 0  # the peer's post when it decided to sleep
    asleep: bool = False


@dataclass(frozen=True)
class State:
    ranks: tuple[Rank, ...]
    posts: tuple[tuple[int, ...], ...]  # per rank and slot: the step posted there
    data: tuple[tuple[int, ...], ...]  # per rank and slot: the step whose data it holds
    sleepers: tuple[int, ...]  # per rank: how many have announced that they sleep on its posts


class Broken(Exception):
    """The protocol let something happen that it must not."""


def put(table, rank, slot, value):
    row = (*table[rank][:slot], value, *table[rank][slot + 1 :])
    return (*table[:rank], row, *table[rank + 1 :])


def change(counts, rank, by):
    return (*counts[:rank], counts[rank] + by, *counts[rank + 1 :])


def advance(state, me, rules):
    """The state after rank ``me``'s next action."""
    rank = state.ranks[me]
    slot = rank.step % rules.slots
    peers = [peer for peer in range(len(state.ranks)) if peer != me]

    def become(**changes):
        moved = replace(rank, **changes)
        return replace(state, ranks=(*state.ranks[:me], moved, *state.ranks[me + 1 :]))

    def next_peer(then):
        following = [peer for peer in peers if peer > rank.peer]
        return {"at": rank.at if following else then, "peer": following[0] if following else peers[0]}

    def posted(peer):
        return state.posts[peer][slot] == rank.step

    match rank.at:
        case "write":
            return replace(become(at="post"), data=put(state.data, me, slot, rank.step))
        case "post":
            return replace(become(at="wake", peer=peers[0]), posts=put(state.posts, me, slot, rank.step))
        case "wake":
            after = become(at="wait")
            if state.sleepers[me] > 0:
                woken = tuple(
                    replace(r, asleep=False) if r.asleep and r.peer == me else r for r in after.ranks
                )
                after = replace(after, ranks=woken)
            return after
        case "wait":
            if posted(rank.peer):
                moved = next_peer("read")
                return become(**moved) if rules.waits_for_all else become(at="read", peer=peers[0])
            return become(at="announce")
        case "announce":
            after = become(at="look again")
            return (
                replace(after, sleepers=change(state.sleepers, rank.peer, +1)) if rules.announces else after
            )
        case "look again":
            now = state.posts[rank.peer][slot]
            return become(at="rise" if now == rank.step else "sleep", seen=now)
        case "sleep":
            changed = state.posts[rank.peer][slot] != rank.seen
            return become(at="rise", asleep=not (changed and rules.checks_word))
        case "rise":
            after = become(at="wait")
            return (
                replace(after, sleepers=change(state.sleepers, rank.peer, -1)) if rules.announces else after
            )
        case "read":
            found = state.data[rank.peer][slot]
            if found != rank.step:
                raise Broken(f"rank {me} reads step {found} of rank {rank.peer} in step {rank.step}")
            moved = next_peer("write")
            return become(**moved, step=rank.step + (moved["at"] == "write"))
    raise AssertionError(rank.at)


def explore(size, rules):
    """Visit every reachable state; return how many there are."""
    start = State(
        ranks=(Rank(step=1),) * size,
        posts=((0,) * rules.slots,) * size,
        data=((0,) * rules.slots,) * size,
        sleepers=(0,) * size,
    )
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        unfinished = [me for me, rank in enumerate(state.ranks) if rank.step <= STEPS]
        movable = [me for me in unfinished if not state.ranks[me].asleep]
        if unfinished and not movable:
            raise Broken(f"ranks {unfinished} sleep for ever")
        for me in movable:
            after = advance(state, me, rules)
            if max(r.step for r in after.ranks) - min(r.step for r in after.ranks) > 1:
                raise Broken("a rank is two steps ahead of another")
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return len(seen)


@pytest.mark.parametrize("size", [2, 3])
def test_no_interleaving_breaks_the_protocol(size):
    assert explore(size, Rules()) > 100


@pytest.mark.parametrize(
    ("mutant", "finding"),
    [
        (Rules(slots=1), "reads step|sleep for ever"),
        (Rules(announces=False), "sleep for ever"),
        (Rules(checks_word=False), "sleep for ever"),
        (Rules(waits_for_all=False), "reads step|two steps ahead"),
    ],
    ids=["one slot", "no announcement", "sleeps without looking", "waits for one"],
)
def test_every_precaution_is_needed(mutant, finding):
    with pytest.raises(Broken, match=finding):
        explore(3, mutant)
