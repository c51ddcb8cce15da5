"""How often a known difference may occur."""

import math


def most(rate, total):
    """The most of `total` random samples, if `rate` of 10,000 are usual: with room for chance."""
    mean = rate * total / 10_000
    return math.ceil(mean + 4 * math.sqrt(mean)) + 1 if rate else 0
