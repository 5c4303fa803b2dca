#!/bin/sh
# One plain sentence for what is missing, before pip and CMake write a page about it.
python=$1

fail() {
    echo "cobre cannot be built: $1" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    fail "there is no '$python'; install Python 3.11 or later, or name yours: make PYTHON=python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "'$python' is older than Python 3.11; name a later one: make PYTHON=python3.12"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "'$python' has no venv module; on Debian and Ubuntu: apt install python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    fail "the headers of '$python' are missing; on Debian and Ubuntu: apt install python3-dev"
command -v "${CXX:-c++}" >/dev/null 2>&1 ||
    fail "there is no C++ compiler '${CXX:-c++}'; on Debian and Ubuntu: apt install g++, elsewhere set CXX"
