"""Run features tell which runs are alike, and the numbers by which they differ.

Start at `command_features`.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RunFeatures", "command_features"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_WORD = re.compile(r"[^\s=,;|&()]+")  # of an argument or a script
_OPTION = re.compile(r"(-[A-Za-z])(\d.*)\Z", re.DOTALL)  # "-n100"
_DIGITS = re.compile(r"\d+")
_MOST = 32  # numbers that count; runs that differ in more are kept apart


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """What decides how long a program runs.

    Attributes:
        key: digest of program and words, the same for runs that differ in numbers alone.
        numbers: those of its command, in their order; of one key always as many.
    """

    key: str
    numbers: tuple[float, ...]


def command_features(command: Sequence[str], apart: str = "") -> RunFeatures:
    """Return the features of a command: its words, and the numbers among them.

    Digits inside a word ("part-17.dat") tell runs neither apart nor how long they take.

    Args:
        command: its program and words.
        apart: runs with another such text are never alike.
    """
    numbers: list[float] = []

    def taken(text: str) -> bool:
        if not _NUMBER.match(text) or not math.isfinite(value := float(text)):
            return False
        numbers.append(value)
        return True

    def word(match: re.Match[str]) -> str:
        text = match[0]
        if taken(text):
            return "#"
        if (option := _OPTION.match(text)) and taken(option[2]):
            return f"{option[1]}#"
        return _DIGITS.sub("0", text)

    words = [apart, command[0], *(_WORD.sub(word, argument) for argument in command[1:])]
    if len(numbers) > _MOST:
        words, numbers = [apart, *command], []
    return RunFeatures(_digest(words), tuple(numbers))


def _digest(words: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(words).encode(errors="surrogateescape")).hexdigest()[:32]
