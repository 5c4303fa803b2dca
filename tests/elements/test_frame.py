"""A stage's programme with an element that stores energy: a battery without losses."""

from datetime import date

import numpy as np
import pytest

from cobre.elements.battery import program as battery_program
from cobre.elements.battery.data import Battery
from cobre.elements.bus import program as bus_program
from cobre.elements.bus.data import Bus, DeficitSegment
from cobre.elements.frame import NoisePlace, StageFrame
from cobre.elements.thermal import program as thermal_program
from cobre.elements.thermal.data import Thermal
from cobre.lp import highs_of, realized
from cobre.system import Block, Stage, System


def system(loads, *, chronological):
    """A bus, a thermal plant of 20 MW at 1 $/MWh, and deficits at 100 $/MWh, in blocks of an hour."""
    blocks = tuple(Block(k, "", 1.0) for k in range(len(loads)))
    stage = Stage(0, date(2024, 1, 1), date(2024, 2, 1), blocks, chronological, 0, 1)
    ones = np.ones(1)
    bus = Bus(1, "", (DeficitSegment(np.inf, 100.0),), 0 * ones, ones, 0 * ones, (np.array(loads),))
    each = np.ones(len(loads))
    plant = Thermal(1, "", 1, (0 * each,), (20 * each,), (each,))
    return System((stage,), {Bus: (bus,), Thermal: (plant,)})


def battery(initial_mwh=0.0):
    """A battery of 8 MWh and 8 MW that loses nothing."""
    eight = np.array([8.0])
    limits = {"capacity_mwh": eight, "max_charge_mw": eight, "max_discharge_mw": eight}
    rates = {"charge_efficiency": 1.0, "discharge_efficiency": 1.0, "self_discharge_per_hour": 0.0}
    costs = {"charge_cost_per_mwh": 0.0, "discharge_cost_per_mwh": 0.0}
    return Battery(7, "", 1, (True,), initial_mwh, **limits, **rates, cycles_per_day=24.0, **costs)


def cost(loads, *, chronological, energy=0.0):
    """The least cost of the stage, with a battery that begins with some energy."""
    frame = StageFrame(system(loads, chronological=chronological), 0)
    thermal_program.add_to_stage(frame, frame.system.of(Thermal))
    battery_program.add_to_stage(frame, [battery()])
    bus_program.add_to_stage(frame, frame.system.of(Bus))
    assert frame.outgoing.keys() == frame.incoming.keys() == {"energy:7"}
    place = ("fix", frame.incoming["energy:7"])
    highs = highs_of(realized(frame.program.program(), [place], np.array([energy])))
    highs.run()
    return highs.getObjectiveValue()


def test_what_is_stored_in_one_block_serves_the_next():
    assert cost([10.0, 30.0], chronological=True) == pytest.approx(18 + 20 + 2 * 100)


def test_chronological_blocks_store_nothing_from_the_future():
    assert cost([30.0, 10.0], chronological=True) == pytest.approx(20 + 10 + 10 * 100)


def test_parallel_blocks_have_no_order():
    for loads in ([10.0, 30.0], [30.0, 10.0]):
        assert cost(loads, chronological=False) == pytest.approx(18 + 20 + 2 * 100)


def test_the_incoming_state_counts():
    assert cost([30.0, 10.0], chronological=True, energy=8.0) == pytest.approx(20 + 10 + 2 * 100)


def test_states_have_their_initial_values():
    assert battery_program.states([battery(3.0)]) == {"energy:7": 3.0}


def test_noise_belongs_to_an_element_of_a_class():
    """Elements of different kinds may have the same id."""
    frame = StageFrame(system([1.0], chronological=False), 0)
    (bus,), (plant,) = frame.system.of(Bus), frame.system.of(Thermal)
    frame.add_noise(bus, NoisePlace("rhs", 0))
    frame.add_noise(plant, NoisePlace("rhs", 1))
    assert [place.place for place in frame.noise_of(bus)] == [0]
    assert [place.place for place in frame.noise_of(plant)] == [1]
