"""Random numbers that are functions of where they are used, not of what was drawn before.

`uniforms` gives the numbers of given coordinates, an iteration, a trajectory and a stage for instance, so any
process can compute any of them, and all agree. `generator` makes a NumPy generator of such coordinates.
"""

from cobre.stochastic._counter import generator, uniforms

__all__ = ["generator", "uniforms"]
