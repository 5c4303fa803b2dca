"""Multi-process SDDP in Python, with the same bits whatever runs it.

The communication layer is `cobre.comm`; the errors of the whole package are in `cobre.errors`.
"""

from cobre.errors import CobreError

__version__ = "0.1.0"

__all__ = ["CobreError", "__version__"]
