"""SHA-256 digests of what the examples give, by part: ``python -m tests.study.digests --write`` records them.

Numbers only: no times, no versions, no names of files.
"""

import hashlib
import json
import sys
from pathlib import Path

import highspy
import numpy as np
import numpy._core._multiarray_umath as numpy_core

from cobre import _lp, _native
from cobre.study import Study
from tests.study.cases import EXAMPLES

RECORDED = Path(__file__).with_name("digests.json")
#: Iterations of each example: a few seconds in all.
CASES = {"one-reservoir": 150, "cascade": 60, "four-regions": 15}


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.dtype.str} {array.shape}".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def digests_of(name, iterations):
    """Train and simulate an example; the digests of the bounds, the policy and the simulated tables."""
    rule = {"type": "iteration_limit", "limit": iterations}
    study = Study.load(EXAMPLES / name, {"training": {"stopping_rules": [rule]}})
    trained, simulated = study.train(), []
    estimates = np.array([[each.mean, each.standard_deviation] for each in trained.estimates])
    study.simulate_streaming(trained.policy, simulated.extend)
    arrays = trained.policy.arrays()
    return {
        "bounds": digest(trained.bounds, estimates),
        "policy": digest(*(arrays[part] for part in sorted(arrays))),
        "simulation": digest(*(array for visit in simulated for array in arrays_of(visit))),
    }


def arrays_of(visit):
    return [value for _, value in sorted(vars(visit).items()) if isinstance(value, np.ndarray)]


def found():
    """The digests here, of which solver they are, and what the processor was used for."""
    return {
        "highs": highspy.Highs().version(),
        "cases": {name: digests_of(name, iterations) for name, iterations in CASES.items()},
    }


def used():
    """Wide vectors that are in use here, by NumPy and by our two modules."""
    wide = {name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[name]}
    return {"numpy": sorted(wide), "ours": [_native.uses_avx2(), _lp.uses_avx2()]}


def main():
    if sys.argv[1:] == ["--write"]:
        RECORDED.write_text(json.dumps(found(), indent=2) + "\n")
    else:
        print(json.dumps({**found(), "used": used()}))  # noqa: T201  what the test reads


if __name__ == "__main__":
    main()
