"""How often a known difference may occur."""

import math


def most(rate, total):
    """The largest allowed count in `total` random samples if `rate` of 10,000 are usual, with a
    margin.
    """
    mean = rate * total / 10_000
    return math.ceil(mean + 4 * math.sqrt(mean)) + 1 if rate else 0
