"""Forecast of the time of iterations, from the last ones."""

from __future__ import annotations

from collections import deque
from math import fsum

#: How many iterations are looked at: the later half of them, but no fewer and no more than this.
FEWEST, MOST = 8, 50


class Pace:
    """Takes the time of iterations, and says what more of them will take.

    Each makes cuts, which the next ones look at, so iterations take longer and longer. The mean of all would
    promise too much, and a line through a few that goes on for ever, anything: so it goes on for as many
    iterations as it was seen for.

    Args:
        seconds: on the clock that `tick` is given, when the first begins.

    >>> pace = Pace()
    >>> for iteration in range(1, 5):
    ...     pace.tick(iteration, 2.0 * iteration)
    >>> pace.seconds_of(10)
    20.0
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._last = seconds
        self._taken: deque[float] = deque(maxlen=MOST)
        self._level, self._growth, self._seen = 0.0, 0.0, 0

    def tick(self, iteration: int, seconds: float) -> None:
        """An iteration ended at that time."""
        self._taken.append(max(0.0, seconds - self._last))
        self._last = seconds
        self._seen = size = min(len(self._taken), max(FEWEST, iteration // 2))
        recent = list(self._taken)[-size:]
        mean, middle = fsum(recent) / size, (size - 1) / 2
        moment = fsum((place - middle) * taken for place, taken in enumerate(recent))
        spread = size * (size**2 - 1) / 12
        # The line of least squares. Work cannot grow faster than the cuts do, from none at the beginning.
        self._growth = min(max(moment / spread if spread else 0.0, 0.0), mean / (iteration - middle))
        self._level = mean + self._growth * middle

    def seconds_of(self, iterations: int) -> float:
        """Return what so many more will take; 0 as long as there is nothing to go by."""
        rising = min(iterations, self._seen)
        risen = rising * (rising + 1) / 2 + (iterations - rising) * rising
        return iterations * self._level + risen * self._growth
