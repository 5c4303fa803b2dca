"""The other end of a relay, in a process of its own: takes addresses and orders on its standard input."""

import os
import pickle
import struct
import sys

from cobre.sddp._relay import connect
from cobre.sddp.events import CheckpointWritten


def send_half_a_message(sender):
    """Promise a thousand bytes, give ten."""
    os.write(sender._connection.fileno(), struct.pack("!i", 1000) + b"x" * 10)


def tell(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main():
    orders = sys.stdin.buffer
    tell("ready")
    while True:
        order = pickle.load(orders)
        if order is None:
            return
        address, count, what = order
        sender = connect(address)
        for number in range(1, count + 1):
            sender(CheckpointWritten("x" * 100, number))
        if what == "half":
            send_half_a_message(sender)
        if what == "close":
            sender.close()
        tell("sent")


if __name__ == "__main__":
    main()
