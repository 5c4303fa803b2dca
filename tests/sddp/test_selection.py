"""Cut selection: what stays and what goes, by hand; and that the bound does not suffer."""

import numpy as np
import pytest

from cobre.sddp import Domination, Level1, LimitedMemoryLevel1, Selection, train
from cobre.sddp import selection as selection_module
from cobre.sddp.selection import NodeCuts
from tests.sddp.bodies import chain
from tests.sddp.extensive import optimal_value


def cuts(iteration, *, born, tight=None, uses=None, active=None, families=None, rows=None, visited=None):
    count = len(born)
    return NodeCuts(
        iteration,
        np.array(born, np.int32),
        np.array([0] * count if tight is None else tight, np.int32),
        np.array([0] * count if uses is None else uses, np.int32),
        np.array(range(count) if active is None else active, np.int32),
        np.array([0] * count if families is None else families, np.int32),
        lambda: np.array(rows, np.float64),
        np.array([[0.0]] if visited is None else visited, np.float64),
    )


# By hand.


def test_level_1_keeps_what_was_ever_tight_and_what_is_new():
    given = cuts(9, born=[1, 1, 5, 9, 9], tight=[1, 0, 7, 0, 9])
    assert Level1().keep(given).tolist() == [True, False, True, True, True]


def test_level_1_looks_at_active_cuts_only():
    given = cuts(9, born=[1, 1, 5, 9], tight=[0, 4, 0, 0], active=[0, 1, 3])
    assert Level1().keep(given).tolist() == [False, True, True]


def test_level_1_keeps_what_decided_more_solves_than_its_threshold():
    given = cuts(9, born=[1, 1, 5, 9, 1], tight=[1, 8, 7, 0, 9], uses=[3, 4, 0, 0, 9])
    assert Level1(threshold=3).keep(given).tolist() == [False, True, False, True, True]


def test_the_cuts_that_are_stalest_go_first_where_there_are_too_many():
    """Cuts 1 and 2 were tight last in iteration 4, and 2 was used less; 4 and 5 are new."""
    given = cuts(9, born=[1, 1, 1, 8, 9, 9], tight=[7, 4, 4, 0, 0, 0], uses=[1, 5, 2, 0, 0, 0])
    everything = LimitedMemoryLevel1(window=9, most=6).mask(given)
    assert everything.tolist() == [True] * 6
    for most, gone in ((5, {2}), (4, {1, 2}), (3, {0, 1, 2}), (1, {0, 1, 2, 3})):
        kept = LimitedMemoryLevel1(every=2, window=9, most=most).mask(given)  # not due in iteration 9
        assert set(np.flatnonzero(~kept)) == gone, most


def test_what_the_method_drops_counts_before_the_limit():
    given = cuts(9, born=[1, 1, 1], tight=[0, 4, 6])
    assert Level1(every=3, most=2).mask(given).tolist() == [False, True, True]
    assert Level1(every=2, most=2).mask(given).tolist() == [False, True, True]  # the stalest of three
    assert Level1(every=2).mask(given).tolist() == [True, True, True]


def test_lml1_forgets_after_its_window():
    """Of a window of 3, in iteration 9: tight or born in 7, 8 or 9."""
    given = cuts(9, born=[1, 1, 1, 6, 7, 9, 2], tight=[6, 7, 9, 0, 0, 0, 0])
    kept = LimitedMemoryLevel1(window=3).keep(given)
    assert kept.tolist() == [False, True, True, False, True, True, False]


@pytest.mark.parametrize("window", [1, 2, 100])
def test_lml1_never_drops_what_is_new(window):
    assert LimitedMemoryLevel1(window=window).keep(cuts(4, born=[4, 4])).tolist() == [True, True]


#: |x - 5| from five sides; the third is below the others everywhere but at 5, where it is as high.
ROWS = [[5, -1], [-5, 1], [0, 0], [-1, -0.1], [4.9, -1]]


def test_domination_keeps_what_is_highest_at_a_visited_state():
    given = cuts(9, born=[1] * 5, rows=ROWS, visited=[[0.0], [8.0]])
    assert Domination().keep(given).tolist() == [True, True, False, False, False]


def test_domination_keeps_all_that_are_as_high():
    given = cuts(9, born=[1] * 5, rows=ROWS, visited=[[5.0]])
    assert Domination().keep(given).tolist() == [True, True, True, False, False]


def test_domination_keeps_what_is_near_enough():
    """At 0 the last is 0.1 below 5: within a tenth of 1 + 5, not within a hundredth."""
    given = cuts(9, born=[1] * 5, rows=ROWS, visited=[[0.0]])
    assert Domination(threshold=0.1).keep(given).tolist() == [True, False, False, False, True]
    assert Domination(threshold=0.01).keep(given).tolist() == [True, False, False, False, False]


def test_domination_keeps_what_is_new_and_forgets_what_is_not_active():
    given = cuts(9, born=[1, 1, 1, 9, 1], active=[2, 3, 4], rows=ROWS, visited=[[8.0]])
    assert Domination().keep(given).tolist() == [True, True, False]


def test_cuts_of_different_outcomes_do_not_compete():
    given = cuts(9, born=[1] * 5, families=[1, 2, 1, 2, 2], rows=ROWS, visited=[[0.0]])
    assert Domination().keep(given).tolist() == [True, False, False, False, True]


def test_without_visited_states_only_the_new_ones_stay():
    given = cuts(3, born=[1, 3], rows=ROWS[:2], visited=np.empty((0, 1)))
    assert Domination().keep(given).tolist() == [False, True]


def test_domination_in_pieces_is_domination(monkeypatch):
    rng = np.random.default_rng(2)
    rows, visited = rng.normal(size=(60, 4)), rng.normal(size=(50, 3))
    given = cuts(9, born=[1] * 60, rows=rows, visited=visited, families=rng.integers(0, 3, 60))
    whole = Domination().keep(given)
    monkeypatch.setattr(selection_module, "CHUNK", 70)
    assert Domination().keep(given).tolist() == whole.tolist()
    heights = rows[:, 0] + visited @ rows[:, 1:].T
    for family in range(3):
        own = np.flatnonzero(given.families == family)
        assert set(own[np.argmax(heights[:, own], axis=1)]) == set(own[whole[own]])


@pytest.mark.parametrize("kind", [Level1, LimitedMemoryLevel1, Domination])
def test_every_is_at_least_one(kind):
    with pytest.raises(ValueError, match="every is 0; it must be at least 1"):
        kind(every=0)
    with pytest.raises(ValueError, match="most is 0; it must be at least 1"):
        kind(most=0)
    with pytest.raises(ValueError, match="activity_tolerance is -1; it must be at least 0"):
        kind(activity_tolerance=-1)


# In training.

SELECTIONS = [
    Level1(every=1),
    Level1(every=3, threshold=2, activity_tolerance=1e-6),
    LimitedMemoryLevel1(every=1, window=15),
    Domination(every=2),
    Level1(every=50, most=8),
]


@pytest.mark.parametrize("cut", ["single", "multi"])
@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_the_bound_converges_as_without_selection(selection, sense, cut):
    """To the value of the whole scenario tree as one programme."""
    problem = chain(4, states=2, count=2, sense=sense)
    value = optimal_value(problem)
    chosen = train(problem, 40, trajectories=5, cuts=cut, selection=selection)
    assert chosen.bound == pytest.approx(value, rel=1e-6)
    sign = 1 if sense == "min" else -1
    assert np.all(np.diff(sign * chosen.bounds) >= 0)
    everything = train(problem, 40, trajectories=5, cuts=cut)
    assert everything.bound == pytest.approx(chosen.bound, rel=1e-6)
    if not isinstance(selection, Domination):  # which keeps all of those that are equal, as many are here
        records = chosen.policy.records.values()
        assert sum(len(each.active) for each in records) < sum(len(each.cuts) for each in records)


class First(Selection):
    """The user's own: the first cut of each node, and those of this iteration."""

    def keep(self, cuts):
        return (cuts.active == 0) | (cuts.born[cuts.active] == cuts.iteration)


def test_a_selection_of_the_users_own_decides():
    """In iterations 2 and 4; what the fifth has made is still there."""
    policy = train(chain(3), 5, trajectories=3, selection=First(every=2)).policy
    record = policy.records["t0"]
    born = record.born[record.active]
    assert set(born.tolist()) <= {1, 4, 5}
    assert np.count_nonzero(born == 1) == 1
    assert np.count_nonzero(born == 5) == np.count_nonzero(record.born == 5)
