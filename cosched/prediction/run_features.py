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
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["RunFeatures", "command_features", "possible_files"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_WORD = re.compile(r"[^\s=,;|&()]+")  # of an argument or a script
_OPTION = re.compile(r"(-[A-Za-z])(\d.*)\Z", re.DOTALL)  # "-n100"
_DIGITS = re.compile(r"\d+")
_OUTPUT = re.compile(r"-o|-?-?o(?:ut|utput)?|--?out[a-z_-]*", re.IGNORECASE)
_MOST = 32  # numbers that count; runs that differ in more are kept apart
_FEW_FILES = 4  # whose sizes count one by one; of more their sum and their number
_FILE = "\0file"
_NO_SIZES: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """What decides how long a program runs.

    Attributes:
        key: digest of program and words, the same for runs that differ in numbers and in files alone.
        numbers: those of its command and the sizes of its files, in their order; of one key always as many.
    """

    key: str
    numbers: tuple[float, ...]


def command_features(command: Sequence[str], apart: str = "", file_sizes: Mapping[str, int] = _NO_SIZES) -> RunFeatures:
    """Return the features of a command: words, numbers among them, sizes of files.

    Digits inside a word ("part-17.dat") tell runs neither apart nor how long they take.

    Args:
        command: its program and words.
        apart: runs with another such text are never alike.
        file_sizes: bytes of files, by name; those that no word of the command names are read, too.
    """
    named = [word for argument in command[1:] for word in _WORD.findall(argument) if word in file_sizes]
    many = len(named) > _FEW_FILES
    reader = _Reader({} if many else file_sizes, set(named) if many else set())
    words = [apart, command[0], *(_WORD.sub(reader.word, argument) for argument in command[1:])]
    numbers = reader.numbers
    if many:
        words = [*filter(None, words), _FILE * 2]
        numbers += (sum(map(file_sizes.__getitem__, named)), len(named))
    if unnamed := file_sizes.keys() - set(named):
        words.append(_FILE)
        numbers.append(sum(map(file_sizes.__getitem__, unnamed)))
    if len(numbers) > _MOST:
        words, numbers = [apart, *command], []
    return RunFeatures(_digest(words), tuple(map(float, numbers)))


class _Reader:
    """Replaces what may differ between like runs, and collects the numbers there.

    Attributes:
        numbers: those found so far.
    """

    def __init__(self, sizes: Mapping[str, int], left_out: AbstractSet[str]) -> None:
        self.numbers: list[float] = []
        self._sizes = sizes
        self._left_out = left_out

    def word(self, match: re.Match[str]) -> str:
        """Return what stands for a word."""
        text = match[0]
        if text in self._left_out:
            return ""
        if text in self._sizes:
            self.numbers.append(self._sizes[text])
            return _FILE
        if self._taken(text):
            return "#"
        if (option := _OPTION.match(text)) and self._taken(option[2]):
            return f"{option[1]}#"
        return _DIGITS.sub("0", text).replace("#", "##")  # alone it stands for a number

    def _taken(self, text: str) -> bool:
        if not _NUMBER.match(text) or not math.isfinite(value := float(text)):
            return False
        self.numbers.append(value)
        return True


def possible_files(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the words of arguments that may name a file to be read.

    A number does not, nor what follows `-o` or `>`.
    """
    writes = False
    for argument in arguments:
        for match in _WORD.finditer(argument):
            text, written = match[0], writes
            writes = text.startswith(">") or _OUTPUT.fullmatch(text) is not None
            if not (written or writes or text.startswith("-") or _NUMBER.match(text)):
                yield text


def _digest(words: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(words).encode(errors="surrogateescape")).hexdigest()[:32]
