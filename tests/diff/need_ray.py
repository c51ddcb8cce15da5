"""Importing this skips the importing test module when Ray is not installed.

With SHOAL_REQUIRE_RAY=1 a missing Ray is a failure. It must be imported before
anything that comes with Ray, such as yaml.
"""

import importlib.util
import os

import pytest

if importlib.util.find_spec("ray") is None:
    if os.environ.get("SHOAL_REQUIRE_RAY") == "1":
        pytest.fail("Ray is required (SHOAL_REQUIRE_RAY=1) but not installed", pytrace=False)
    pytest.skip("Ray is not installed for this Python", allow_module_level=True)
