"""The linear programme of one stage of a hydrothermal system.

Variables, rows and costs are those of the Cobre specification (``lp-formulation`` and
``equipment-formulations``). A slack exists only where what it relaxes can be missed, so a plain case is a
small programme. Columns are called by kind, entity and block: ``turbined:3:0``.
"""

from __future__ import annotations

from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.hydro.data import Hydro
from cobre.hydrothermal import _constraints, _future, _power, _reservoirs, _water
from cobre.hydrothermal._frame import Frame
from cobre.system import System


def stage_program(system: System, number: int, orders: dict[int, int]) -> Frame:
    """Build the programme of a stage.

    Args:
        system: what there is.
        number: which of its stages.
        orders: by hydro, how many past inflows are states.
    """
    frame = Frame(system, number, orders)
    absent = [hydro for hydro in system.of(Hydro) if frame.phase(hydro.id) == "absent"]
    present = [hydro for hydro in system.of(Hydro) if frame.phase(hydro.id) != "absent"]
    for hydro in present:
        _water.add_releases(frame, hydro)
    _water.add_pumping(frame)
    for hydro in absent:
        _reservoirs.add_kept(frame, hydro)
    for hydro in present:
        _reservoirs.add_reservoir(frame, hydro)
    _power.add_generation(frame)
    _power.add_lines(frame)
    _power.add_buses(frame)
    for constraint in system.of(GenericConstraint):
        _constraints.add_constraint(frame, constraint)
    if system.future is not None and number == len(system.stages) - 1:
        _future.add_future(frame, system.future)
    return frame
