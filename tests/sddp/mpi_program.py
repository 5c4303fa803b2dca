"""What mpiexec runs in the tests of sddp: ``python -m tests.sddp.mpi_program FOLDER BODY [ARGUMENT …]``.

A body is a function of `tests.sddp.bodies` that takes a communicator and arguments in JSON. Every rank leaves
its result in a file of its own.
"""

import json
import pickle
import sys
from pathlib import Path

from cobre.comm import create_communicator
from tests.sddp import bodies


def main():
    folder, body, *arguments = sys.argv[1:]
    with create_communicator("mpi") as comm:
        result = getattr(bodies, body)(comm, *map(json.loads, arguments))
        Path(folder, str(comm.rank)).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main()
