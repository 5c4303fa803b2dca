"""A stage's programme with an element that stores energy, as the page for authors of kinds has it."""

import re
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cobre.elements.bus import program as bus_program
from cobre.elements.bus.data import Bus, DeficitSegment
from cobre.elements.frame import NoisePlace, StageFrame
from cobre.elements.thermal import program as thermal_program
from cobre.elements.thermal.data import Thermal
from cobre.lp import highs_of, realized
from cobre.system import Block, Stage, System

PAGE = Path(__file__).parents[2] / "docs/how-to/add-an-element.md"


@pytest.fixture(scope="module")
def page():
    """What the page's blocks define."""
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(block, names)
    return SimpleNamespace(**names)


def system(loads, *, chronological):
    """A bus, a thermal plant of 20 MW at 1 $/MWh, and deficits at 100 $/MWh, in blocks of an hour."""
    blocks = tuple(Block(k, "", 1.0) for k in range(len(loads)))
    stage = Stage(0, date(2024, 1, 1), date(2024, 2, 1), blocks, chronological, 0, 1)
    ones = np.ones(1)
    bus = Bus(1, "", (DeficitSegment(np.inf, 100.0),), 0 * ones, ones, 0 * ones, (np.array(loads),))
    each = np.ones(len(loads))
    plant = Thermal(1, "", 1, (0 * each,), (20 * each,), (each,))
    return System((stage,), {Bus: (bus,), Thermal: (plant,)})


def cost(page, loads, *, chronological, energy=0.0):
    """The least cost of the stage, with a tank of 8 MWh and 8 MW that begins with some energy."""
    frame = StageFrame(system(loads, chronological=chronological), 0)
    tank = SimpleNamespace(id=7, bus=1, max_mw=8.0, capacity_mwh=8.0)
    thermal_program.add_to_stage(frame, frame.system.of(Thermal))
    page.add_tank(frame, tank)
    bus_program.add_to_stage(frame, frame.system.of(Bus))
    assert frame.outgoing.keys() == frame.incoming.keys() == {"energy:7"}
    place = ("fix", frame.incoming["energy:7"])
    highs = highs_of(realized(frame.program.program(), [place], np.array([energy])))
    highs.run()
    return highs.getObjectiveValue()


def test_what_is_stored_in_one_block_serves_the_next(page):
    assert cost(page, [10.0, 30.0], chronological=True) == pytest.approx(18 + 20 + 2 * 100)


def test_chronological_blocks_store_nothing_from_the_future(page):
    assert cost(page, [30.0, 10.0], chronological=True) == pytest.approx(20 + 10 + 10 * 100)


def test_parallel_blocks_have_no_order(page):
    for loads in ([10.0, 30.0], [30.0, 10.0]):
        assert cost(page, loads, chronological=False) == pytest.approx(18 + 20 + 2 * 100)


def test_the_incoming_state_counts(page):
    assert cost(page, [30.0, 10.0], chronological=True, energy=8.0) == pytest.approx(20 + 10 + 2 * 100)


def test_states_have_their_initial_values(page):
    assert page.states([SimpleNamespace(id=7, initial_mwh=3.0)]) == {"energy:7": 3.0}


def test_noise_belongs_to_an_element_of_a_class():
    """Elements of different kinds may have the same id."""
    frame = StageFrame(system([1.0], chronological=False), 0)
    (bus,), (plant,) = frame.system.of(Bus), frame.system.of(Thermal)
    frame.add_noise(bus, NoisePlace("rhs", 0))
    frame.add_noise(plant, NoisePlace("rhs", 1))
    assert [place.place for place in frame.noise_of(bus)] == [0]
    assert [place.place for place in frame.noise_of(plant)] == [1]
