"""Starting processes on this machine as the ranks of a group, and what they and their parent tell each other.

`run_ranks` calls a function on every rank, `run_command` runs a command as every rank. Everything in this
package that installs a signal handler is in one module; `deferred_signals`, `terminated_in_order` and
`interrupt_on_sigterm` are what others use of it.
"""

from cobre.comm.launch._ranks import Parent, group_environments, require_startable, run_command, run_ranks
from cobre.comm.launch._signals import (
    Terminated,
    deferred_signals,
    interrupt_on_sigterm,
    terminated_in_order,
)

__all__ = [
    "Parent",
    "Terminated",
    "deferred_signals",
    "group_environments",
    "interrupt_on_sigterm",
    "require_startable",
    "run_command",
    "run_ranks",
    "terminated_in_order",
]
