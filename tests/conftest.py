"""For all tests: property tests never fail for being slow, and try the same examples each time.

With EXPLORE=1 in the environment they go on looking: what they find becomes a test of its own, not a run that failed by
chance.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "cosched", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="EXPLORE" not in os.environ
)
settings.load_profile("cosched")
