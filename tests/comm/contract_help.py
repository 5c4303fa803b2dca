"""What ``help`` says of a communicator, compared with the contract."""

import inspect
import pydoc

from cobre.comm import BackendCommunicator, Communicator, SharedMemoryProvider

METHODS = {
    **dict.fromkeys(("allgatherv", "allreduce", "broadcast", "barrier", "close"), Communicator),
    **dict.fromkeys(("create_shared_region", "split_local"), SharedMemoryProvider),
    "gather_region": BackendCommunicator,
}


def without_contract_help(comm):
    """The methods of a communicator of which ``help`` does not show the contract's whole docstring."""
    missing = []
    for name, contract in METHODS.items():
        expected = inspect.getdoc(getattr(contract, name)).splitlines()
        assert "Raises:" in expected
        for owner in (comm, type(comm)):
            text = pydoc.plain(pydoc.render_doc(getattr(owner, name)))
            shown = [line.strip() for line in text.splitlines()]
            if not all(line.strip() in shown for line in expected) or not shown[0].startswith(
                "Python Library"
            ):
                missing.append(f"{owner}.{name}")
    return missing
