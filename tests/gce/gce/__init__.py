"""A strict stand-in for Google's Compute API: see docs/dev/gce.md.

It shares its HTTP servers, its fault queue and its clockwork with the AWS test cloud in tests/bed.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bed"))
