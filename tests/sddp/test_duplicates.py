"""A cut equal bit for bit to one that is there is not stored again."""

import numpy as np
import pytest

from cobre.results import TrainingLog
from cobre.sddp import Level1, LimitedMemoryLevel1, MultistageProblem, Selection, stages, train
from cobre.sddp._checkpoint import SavedTraining


def few_vertices():
    """A reservoir with whole numbers: few trial states, and few cuts."""

    def week(model, t):
        volume = model.state("volume", upper=10)
        bought, spilt = model.variable("bought", cost=2.0 + t), model.variable("spilt")
        inflow = model.parameter("inflow", [0, 5])
        model.constraint(volume.outgoing == volume.incoming + inflow + bought - spilt - 3)

    return MultistageProblem.linear(stages(3, week), {"volume": 5})


def distinct(record):
    return len(np.unique(np.column_stack([record.families, record.cuts]), axis=0))


@pytest.mark.parametrize("how", [{}, {"cuts": "multi"}, {"selection": Level1(every=1)}], ids=str)
def test_no_cut_is_stored_twice_and_repetitions_are_counted(how):
    result = train(few_vertices(), 15, trajectories=4, **how)
    records = result.policy.records.values()
    assert [len(record.cuts) for record in records] == [distinct(record) for record in records]
    assert sum(event.cuts_added for event in result.log) == sum(len(record.cuts) for record in records)
    assert sum(event.cuts_repeated for event in result.log) > 20
    assert result.log[-1].cuts_added == 0


class JustMade(Selection):
    """Keeps the cuts of the last iteration only."""

    def keep(self, cuts):
        return cuts.born[cuts.active] == cuts.iteration


def test_a_cut_that_selection_left_out_comes_back_when_it_is_made_again():
    """In the end nothing is new: all that is in use has been made again, and was left out before at times."""
    result = train(few_vertices(), 30, trajectories=2, selection=JustMade(every=1))
    last = result.log[-1]
    assert (last.cuts_added, last.cuts_active) == (0, last.cuts_repeated)
    assert last.cuts_active > 0
    assert sum(event.cuts_revived for event in result.log) > 0


def test_the_table_of_a_training_counts_what_selection_sets_aside():
    result = train(few_vertices(), 30, trajectories=2, selection=JustMade(every=1))
    log = TrainingLog()
    for event in result.log:
        log.add(event)
    rows = log.tables["convergence"].to_pylist()
    assert all(row["cuts_removed"] >= 0 for row in rows)
    assert sum(row["cuts_removed"] for row in rows) == (
        sum(event.cuts_added + event.cuts_revived for event in result.log) - result.log[-1].cuts_active
    )


def test_a_checkpoint_has_the_ages_of_the_iteration_that_it_is_of(tmp_path):
    """In later iterations cuts are made again, and are younger then."""
    problem, how = few_vertices(), {"trajectories": 4, "selection": LimitedMemoryLevel1(every=1, window=2)}
    path = tmp_path / "checkpoint"
    train(problem, 6, checkpoint=path, **how)
    saved = SavedTraining.load(path).policy
    resumed, whole = train(problem, 12, resume=path, **how), train(problem, 12, **how)
    assert max(record.born.max(initial=0) for record in saved.records.values()) <= 6
    assert resumed.bounds.tobytes() == whole.bounds.tobytes()
    for name in whole.policy.nodes:
        mine, theirs = resumed.policy.records[name], whole.policy.records[name]
        np.testing.assert_array_equal(mine.born, theirs.born)
        np.testing.assert_array_equal(mine.active, theirs.active)
