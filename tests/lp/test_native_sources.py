"""What keeps arithmetic the same on every processor: where it stands, and how it is compiled."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BINDINGS = sorted((ROOT / "native/bind").glob("*.[ch]pp"))

#: Signs of arithmetic on floating-point numbers: variables, literals, functions, elements of arrays.
ARITHMETIC = re.compile(
    r"\bdouble\s+\w+\s*[={;\[]|\b\d+\.\d|\b\d+e-?\d|<cmath>|\bstd::f?(abs|sqrt|ma)\b|data\(\)\s*\["
)


def arithmetic_in(source):
    """The lines of a C++ source that compute with floating-point numbers."""
    code = re.sub(r'//[^\n]*|"(\\.|[^"\\])*"', "", source)
    return [line.strip() for line in code.splitlines() if ARITHMETIC.search(line)]


@pytest.mark.parametrize("path", BINDINGS, ids=lambda path: path.name)
def test_bindings_leave_arithmetic_to_the_core(path):
    assert arithmetic_in(path.read_text()) == []


def test_the_check_sees_arithmetic():
    lines = [
        "double sum = 0;",
        "double sums[4];",
        "out = ns * 1e-9;",
        "half = 0.5 * x;",
        "cut.data()[0] += weight * slope;",
        "size += std::fabs(x);",
        "#include <cmath>",
    ]
    harmless = ["void join(double timeout_s);", "std::chrono::duration<double>(timeout_s)", "// 0.5", '"1.5"']
    assert arithmetic_in("\n".join([*lines, *harmless])) == lines


def test_no_file_is_compiled_with_fused_operations():
    """The option is set for the whole directory before the first target, which it would not reach later."""
    lines = [line.strip() for line in (ROOT / "CMakeLists.txt").read_text().splitlines()]
    first = next(
        i for i, line in enumerate(lines) if re.match(r"(nanobind_)?add_(library|executable|module)", line)
    )
    assert "add_compile_options(-ffp-contract=off)" in lines[:first]
    assert not any(("ffp-contract=" in line and "off" not in line) or "fast-math" in line for line in lines)
