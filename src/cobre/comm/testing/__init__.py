"""Checks that any backend must pass, whoever wrote it.

```python
from cobre.comm import create_communicator
from cobre.comm.testing import GroupRunner, run_checks

for outcome in run_checks(GroupRunner(lambda: create_communicator("local"))):
    print(outcome.name, "passed" if outcome.passed else outcome.detail)
```

A check is a function of one argument, ``run_ranks``. It calls ``run_ranks(body, *args)`` as often as it
likes; that runs ``body(comm, *args)`` on every rank of a fresh group and returns the results in rank
order. Bodies are functions of a module and results can be pickled, so ranks may be processes. A check
returns if its promise, the first sentence of its docstring, holds and raises otherwise.

Needs no test framework. `CHECKS` lists all checks; each holds at every group size.
"""

from cobre.comm.testing._checks import CHECKS, Outcome, promise, run_checks
from cobre.comm.testing._run import Check, GroupRunner, RunRanks

__all__ = ["CHECKS", "Check", "GroupRunner", "Outcome", "RunRanks", "promise", "run_checks"]
