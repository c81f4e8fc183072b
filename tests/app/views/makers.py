"""Users and a task for the tests of views."""

from __future__ import annotations

from cosched.access import Principal, Role
from cosched.prediction.profile import PredictionSource, Profile
from tests.tasks import make_task

NOW = 1_750_000_000.0
PREDICTED_TASK = make_task(
    1, name="n", submitted=NOW, owner="me", profile=Profile((10.0,), PredictionSource.USER), deadline=NOW + 60
)
ME = Principal("me", Role.USER)
YOU = Principal("you", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)
