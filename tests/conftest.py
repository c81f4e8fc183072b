"""For all tests: property tests never fail for being slow, and in CI they try the same examples each time.

Elsewhere they go on looking: what they find there becomes a test of its own, not a landing that failed by chance.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "cosched", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("cosched")
