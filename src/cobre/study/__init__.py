"""From a case folder to a policy and a simulation: the only path that there is."""

from cobre.study._study import Study

__all__ = ["Study"]
