"""The kinds of elements that a system consists of: one package each, with the same modules.

``data.py``      the element as frozen data, every number of it resolved by stage
``inputs.py``    its files in a case folder
``findings.py``  what is checked across files
``noise.py``     what is random about it
``program.py``   its columns, rows and costs in the programme of a stage
``outputs.py``   its tables in the results of a simulation, and how a solved stage fills them
``labels.py``    its names, its codes, and how figures show it

``registry.py`` has the only list of kinds; whatever needs a part of all kinds asks for it there.
Elements are sorted by id, so the order in which files name them changes nothing. Powers are in MW, flows in
m³/s, volumes in hm³.
"""

from cobre.elements.registry import (
    KINDS,
    Labels,
    by_entity_code,
    collect,
    data_class,
    elements_of,
    findings,
    inputs,
    labels,
    part,
)

__all__ = [
    "KINDS",
    "Labels",
    "by_entity_code",
    "collect",
    "data_class",
    "elements_of",
    "findings",
    "inputs",
    "labels",
    "part",
]
