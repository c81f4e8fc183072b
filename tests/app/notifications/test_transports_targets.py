from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.app.notifications.transports import NotificationTargets
from cosched.errors import UserError

ALLOWED = NotificationTargets(("hooks.example.org", "http://10.0.0.7:9000"), ("ann@example.org", "@site.example"))


@pytest.mark.parametrize(
    "target",
    [
        "https://hooks.example.org/x?y=1",
        "https://HOOKS.example.org",
        "http://10.0.0.7:9000/",
        "mailto:ann@example.org",
        "mailto:any.body+x@site.example",
        "mailto:ann@Example.org",
    ],
)
def test_a_listed_target_is_allowed(target: str) -> None:
    ALLOWED.check((target,))


@pytest.mark.parametrize(
    "target",
    [
        "",
        "hooks.example.org",
        "http://hooks.example.org/",
        "https://hooks.example.org:8443/",
        "https://evil.example/",
        "https://hooks.example.org.evil.example/",
        "https://hooks.example.org@evil.example/",
        "https://10.0.0.7:9000/",
        "https://ann:x@hooks.example.org/",
        "http://127.0.0.1/",
        "http://169.254.169.254/",
        "http://[::1]/",
        "file:///etc/passwd",
        "https://hooks.example.org\\@evil.example/",
        "https://hooks.example.org/\n",
        "https://hooks.example.org:x/",
        "mailto:bob@example.org",
        "mailto:ann@example.org,eve@evil.example",
        "mailto:ann@example.org?bcc=eve@evil.example",
        "mailto:ann@example.org\r\nBcc: eve@evil.example",
        "mailto:@site.example",
        "mailto:a@sub.site.example",
        "https://hooks.example.org/" + "x" * 1024,
        "https://hooks.example.org/\u202e",
    ],
)
def test_an_unlisted_target_is_refused(target: str) -> None:
    with pytest.raises(UserError, match=r"cannot be notified: allowed here are mailto:ann@example.org, mailto:…@site"):
        ALLOWED.check((target,))
    with pytest.raises(UserError, match="the administrator has allowed none"):
        NotificationTargets().check((target,))


def test_a_task_tells_a_few() -> None:
    with pytest.raises(UserError, match="6 addresses to notify are too many: give at most 5"):
        ALLOWED.check(("mailto:ann@example.org",) * 6)


@given(st.text())
def test_any_text_is_allowed_or_not(text: str) -> None:
    assert not ALLOWED.allows(text)
    assert not ALLOWED.allows(f"https://{text}") or text.lower().startswith("hooks.example.org")
