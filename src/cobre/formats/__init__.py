"""Problems as files that other tools read and write, too: MSPFormat and StochOptFormat.

MSPFormat is that of the benchmark library MSPLib. StochOptFormat is that of Dowson and Garcia, version 1,
with subproblems in MathOptFormat.
"""

from cobre.formats._mspformat import read_mspformat
from cobre.formats._read_stochoptformat import read_stochoptformat
from cobre.formats._write_stochoptformat import write_stochoptformat

__all__ = ["read_mspformat", "read_stochoptformat", "write_stochoptformat"]
