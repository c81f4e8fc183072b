"""The errors that reach people.

    CoschedError
    ├── UserError      what was asked cannot be done as asked: exit code 1, HTTP 4xx
    │   └── ModelError (cosched.language)  a PSL or HMCL file has faults
    └── SystemFault    the machine, the manager or cosched failed: exit code 2, HTTP 5xx
        └── ConnectorError (cosched.connector)

Every message is one line that names the thing at fault and what to do next.
"""

from __future__ import annotations

__all__ = ["CoschedError", "SystemFault", "UserError", "expected_text"]


class CoschedError(Exception):
    """Base of everything cosched raises on purpose; `str(error)` is one line for people."""


class UserError(CoschedError):
    """The request cannot be fulfilled; the message says what would be accepted."""


class SystemFault(CoschedError):  # noqa: N818  "fault" is the word our pages use
    """The machine, the resource manager or cosched itself failed; the request may be right."""


def expected_text(message: str) -> str:
    """Return pydantic's message on a value as ours: "it must be true or false"."""
    message = message.replace("Value error, ", "")  # inside of click's messages, too
    return message.replace("Input should be", "it must be").replace("a valid boolean", "true or false")
