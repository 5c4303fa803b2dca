"""Running ``cobre`` as users do, in a process of its own or, where that makes no difference, in this one."""

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, chdir, contextmanager
from unittest.mock import patch

from cobre.cli import main

COBRE = (sys.executable, "-m", "cobre")


def cobre(*arguments, cwd=None, env=None):
    """Exit code, stdout and stderr of a command that is called in this process.

    To start a process takes longer than most commands. What is printed is taken from the file descriptors, so
    that native code and processes that the command starts are heard, too.
    """
    if "mpi4py.MPI" in sys.modules:  # a command that fails would abort the job that this process then is
        return cobre_process(*arguments, cwd=cwd, env=env)
    with ExitStack() as stack:
        printed = [stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(2)]
        with ExitStack() as during:
            during.enter_context(patch.object(sys, "argv", ["cobre", *map(str, arguments)]))
            during.enter_context(chdir(cwd or "."))
            if env is not None:
                during.enter_context(patch.dict(os.environ, env, clear=True))
            for name, file in zip(("stdout", "stderr"), printed, strict=True):
                during.enter_context(_in_place_of(name, file))
            code = _exit_code_of(main)
        out, err = (_contents(file) for file in printed)
    return code, out, err


def cobre_process(*arguments, **options):
    """The same of a process: for what lies in how one begins and ends."""
    ended = subprocess.run(
        [*COBRE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout, ended.stderr


@contextmanager
def _in_place_of(name, file):
    """A file in place of a standard stream, for Python and for everybody else."""
    number = {"stdout": 1, "stderr": 2}[name]
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        with patch.object(sys, name, file):
            yield
    finally:
        file.flush()
        os.dup2(before, number)
        os.close(before)


def _exit_code_of(command):
    try:
        command()
    except SystemExit as ending:
        return ending.code or 0
    return 0


def _contents(file):
    file.seek(0)
    return file.read()
