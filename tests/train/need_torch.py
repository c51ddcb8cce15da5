"""Importing this skips the importing test module when torch is not installed.

With SHOAL_REQUIRE_RAY=1 a missing torch is a failure.
"""

import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None:
    if os.environ.get("SHOAL_REQUIRE_RAY") == "1":
        pytest.fail("torch is required (SHOAL_REQUIRE_RAY=1) but not installed", pytrace=False)
    pytest.skip("torch is not installed; -Dtrain_python= names a Python that has it",
                allow_module_level=True)
