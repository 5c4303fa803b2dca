"""Writes one of two policies after the other until it is killed; its argument is the file."""

import sys

import numpy as np

from cobre.sddp import _archive


def content(which):
    return {"which": which}, {"cuts": np.full(200_000, float(which)), "counts": np.full(3, which)}


def main():
    for number in range(1_000_000):
        _archive.write(sys.argv[1], *content(number % 2))
        sys.stdout.write(".")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
