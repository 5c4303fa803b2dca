"""Running ``cobre`` as users do."""

import subprocess
import sys

COBRE = (sys.executable, "-m", "cobre")


def cobre(*arguments, **options):
    """Exit code, stdout and stderr."""
    ended = subprocess.run(
        [*COBRE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout, ended.stderr
