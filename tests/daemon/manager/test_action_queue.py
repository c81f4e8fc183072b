from __future__ import annotations

from unittest.mock import MagicMock

from structlog.testing import capture_logs

from cosched.daemon.manager.action_queue import ActionQueue


def test_an_action_that_cosched_fails_on_ends_no_other() -> None:
    actions, done = ActionQueue(), []
    for action in (MagicMock(side_effect=KeyError("nobody")), lambda: done.append("next"), actions.stop):
        actions.put(action)
    with capture_logs() as log:
        actions.run()
    assert done == ["next"]
    assert [line["event"] for line in log] == ["cosched made a mistake with an action and goes on"]
