"""Counter-based random numbers, and inflow models that use them.

`uniforms` gives the numbers of given coordinates, an iteration, a trajectory and a stage for instance, so any
process can compute any of them, and all agree. `generator` makes a NumPy generator of such coordinates.
`openings` and `out_of_sample` give the standard normal noise of stages, of which the noise modules of
`cobre.elements` make m³/s and MW. `resolve` prepares a periodic autoregressive model; `estimate` fits one.
"""

from cobre.stochastic._correlation import Correlation
from cobre.stochastic._counter import generator, uniforms
from cobre.stochastic._fit import estimate
from cobre.stochastic._normal import MOST_NORMAL
from cobre.stochastic._openings import openings, out_of_sample
from cobre.stochastic._par import YEAR, Annual, Resolved, residual_ratios, resolve
from cobre.stochastic._past import SeasonModel
from cobre.stochastic._points import MOST_SOBOL
from cobre.stochastic._residuals import consistent, residual_correlations, residuals

__all__ = [
    "MOST_NORMAL",
    "MOST_SOBOL",
    "YEAR",
    "Annual",
    "Correlation",
    "Resolved",
    "SeasonModel",
    "consistent",
    "estimate",
    "generator",
    "openings",
    "out_of_sample",
    "residual_correlations",
    "residual_ratios",
    "residuals",
    "resolve",
    "uniforms",
]
