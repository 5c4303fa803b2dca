"""``python -m cobre``: the ``cobre`` command where no script is on the path."""

from cobre.cli import main

main()
