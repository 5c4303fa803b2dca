"""Risk measures of stages: each acts on the openings of its own stage, the first and the last included."""

import itertools

import numpy as np
import pytest

from cobre import sddp
from cobre.hydrothermal import risk_of
from cobre.study import Study
from tests.hydrothermal.extensive import optimal_value
from tests.hydrothermal.small_cases import HOURS, VOLUME, hydro, small_case, thermal

EXPECTATION = "expectation"


def cvar(alpha, weight):
    return {"cvar": {"alpha": alpha, "lambda": weight}}


def measures(*given):
    """A change of the stages."""

    def change(files):
        for stage, measure in zip(files["stages.json"]["stages"], given, strict=True):
            stage["risk_measure"] = measure

    return change


def openings(entity, *values):
    """A change: per stage the noise of its openings, all of one load or inflow."""
    file, column = {"load": ("load", "std_mw"), "inflow": ("inflow", "std_m3s")}[entity]

    def change(files):
        files[f"scenarios/{file}_seasonal_stats.parquet"][column] = [1.0 for _ in values]
        for stage, numbers in zip(files["stages.json"]["stages"], values, strict=True):
            stage["num_scenarios"] = len(numbers)
        rows = [(t, i, eta) for t, numbers in enumerate(values) for i, eta in enumerate(numbers)]
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [t for t, _, _ in rows],
            "opening_index": [i for _, i, _ in rows],
            "entity_index": [0 for _ in rows],
            "value": [eta for _, _, eta in rows],
        }

    return change


def tail_mean(costs, alpha):
    """The mean of the worst ``alpha`` of equally probable costs, by the definition."""
    left, mean = alpha * len(costs), 0.0
    for cost in sorted(costs, reverse=True):
        mean += min(left, 1.0) * cost
        left = max(left - 1.0, 0.0)
    return mean / (alpha * len(costs))


def measured(costs, measure):
    if measure == EXPECTATION:
        return float(np.mean(costs))
    alpha, weight = measure["cvar"]["alpha"], measure["cvar"]["lambda"]
    return (1 - weight) * float(np.mean(costs)) + weight * tail_mean(costs, alpha)


#: MW above 100, which one thermal plant of 10 per MWh serves.
LOADS = ((-40.0, 0.0, 10.0, 60.0), (-10.0, -5.0, 30.0, 45.0), (-60.0, -20.0, 0.0, 90.0))
TYPICAL = cvar(0.3, 0.4)


def thermal_study(folder, *given):
    """Without water nothing is carried over."""
    return Study.load(
        small_case(
            folder,
            stages=len(given),
            thermals=[thermal(0, 500.0, 10.0)],
            risk=measures(*given),
            noise=openings("load", *LOADS[: len(given)]),
        )
    )


def stage_costs(t):
    return [10.0 * HOURS * (100.0 + more) for more in LOADS[t]]


@pytest.mark.parametrize(
    "given",
    [
        (TYPICAL, TYPICAL, TYPICAL),
        (cvar(0.25, 1.0), EXPECTATION, EXPECTATION),
        (EXPECTATION, cvar(0.25, 1.0), EXPECTATION),
        (EXPECTATION, EXPECTATION, cvar(0.25, 1.0)),
        (cvar(0.1, 0.2), cvar(0.6, 0.9), cvar(0.35, 0.5)),
    ],
)
def test_without_states_the_bound_is_the_sum_of_each_stages_own_measure(tmp_path, given):
    """A measure of a cost plus a constant is the measure of the cost, plus the constant."""
    study = thermal_study(tmp_path, *given)
    expected = sum(measured(stage_costs(t), measure) for t, measure in enumerate(given))
    assert study.train().bound == pytest.approx(expected, rel=1e-12)


def test_a_study_of_one_stage_has_its_measure(tmp_path):
    worst = thermal_study(tmp_path, cvar(0.25, 1.0)).train()
    assert worst.bound == pytest.approx(max(stage_costs(0)), rel=1e-12)


def test_on_paper(tmp_path):
    """100 MW from water, a plant of 40 MW at 10 per MWh, or one of 100 MW at 50: two stages, one reservoir.

    1 m³/s gives 1 MW. 60 are stored at first; inflows are 20 or 40 in the first stage, 0 or 60 in the second,
    whose measure (alpha and lambda 0.5) gives the dry opening the probability 0.25 + 0.5 = 0.75. Water kept
    saves 0.75 * 50 if that is dry and 0.25 * 10 at most if it is wet, which is more than 10 and less than 50.
    So the first stage uses the cheap plant fully and 60 of water, and keeps the rest of its 80 or 100. Its
    own measure (alpha 0.5, lambda 1) is the worse of the two.
    """
    study = Study.load(
        small_case(
            tmp_path,
            hydros=[hydro(0, inflow=30.0)],
            thermals=[thermal(0, 40.0, 10.0), thermal(1, 100.0, 50.0)],
            initial={0: 60.0 * VOLUME},
            risk=measures(cvar(0.5, 1.0), cvar(0.5, 0.5)),
            noise=openings("inflow", (-10.0, 10.0), (-30.0, 30.0)),
        )
    )
    assert study.risk == {"root": sddp.EAVaR(0.0, 0.5), "0": sddp.EAVaR(0.5, 0.5)}

    def second(kept, inflow):
        short = max(100.0 - kept - inflow, 0.0)
        return 10.0 * min(short, 40.0) + 50.0 * max(short - 40.0, 0.0)

    def first(water):
        kept = water - 60.0
        return 10.0 * 40.0 + 0.75 * second(kept, 0.0) + 0.25 * second(kept, 60.0)

    result = study.train()
    assert result.bound == pytest.approx(HOURS * max(first(80.0), first(100.0)), rel=1e-9)


def value_of(study):
    case = study.case
    return optimal_value(case.system, case.scenarios.entities, case.scenarios.openings)


def reservoir_study(folder, *given, **more):
    water = ((-8.0, 1.0, 12.0), (-14.0, 0.0, 9.0), (-15.0, 2.0, 10.0))
    return Study.load(
        small_case(
            folder,
            stages=len(given),
            hydros=[hydro(0, inflow=25.0, most_hm3=150.0)],
            thermals=[thermal(0, 40.0, 10.0), thermal(1, 30.0, 90.0)],
            initial={0: 60.0},
            risk=measures(*given),
            noise=openings("inflow", *water),
            **more,
        )
    )


def discounted(files):
    files["stages.json"]["policy_graph"]["annual_discount_rate"] = 0.3


DIFFERENT = (cvar(0.2, 0.7), cvar(0.5, 0.3), cvar(0.8, 1.0))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_different_measure_in_each_stage_gives_the_value_of_the_tree(tmp_path, order):
    study = reservoir_study(tmp_path, *(DIFFERENT[i] for i in order), discount=discounted)
    assert study.train().bound == pytest.approx(value_of(study), rel=1e-7)


def test_every_stage_matters(tmp_path):
    """A measure in any stage, the last one included, costs more than the expectation."""
    neutral = reservoir_study(tmp_path / "neutral", *3 * [EXPECTATION]).train().bound
    for t in range(3):
        given = [TYPICAL if stage == t else EXPECTATION for stage in range(3)]
        assert reservoir_study(tmp_path / str(t), *given).train().bound > 1.001 * neutral


def test_the_measure_after_a_node_is_that_of_the_stage_that_follows(tmp_path):
    study = reservoir_study(tmp_path, *DIFFERENT)
    first, second, third = (
        sddp.EAVaR(1 - weight, alpha) for alpha, weight in ((0.2, 0.7), (0.5, 0.3), (0.8, 1.0))
    )
    assert study.risk == {"root": first, "0": second, "1": third}
    around = sddp.MultistageProblem.cyclic(study.problem.nodes, study.problem.initial_state)
    assert risk_of(study.case.system, around) == {"root": first, "0": second, "1": third, "2": first}
