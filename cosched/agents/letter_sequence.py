"""Number the letters to one neighbour, and take each of its letters once."""

from __future__ import annotations

from cosched.agents.protocol.letters import Advertisement, Body, Inquiry, Letter

__all__ = ["LetterSequence"]

# Letters that may overtake one another; what comes later than that counts as lost. Its sender says it again.
_WINDOW = 1024


class LetterSequence:
    """The two directions between us and one neighbour.

    A letter names both agents' lives: what was written to or by a former life is not taken, for it may have been taken
    then. Within a life each letter has a number of its own.

    Attributes:
        life: the neighbour's life as far as it is known; 0: not yet.
    """

    def __init__(self, name: str, peer: str, own_life: int) -> None:
        self.life = 0
        self._name = name
        self._peer = peer
        self._own_life = own_life
        self._written = 0
        self._newest = 0
        self._taken: set[int] = set()

    def write(self, body: Body) -> Letter:
        """Return the letter that carries this to the neighbour."""
        self._written += 1
        return Letter(self._name, self._peer, self._own_life, self.life, self._written, body)

    def take(self, letter: Letter) -> bool:
        """Return whether to accept a letter: it is new, and between the present lives.

        Advertisements and inquiries need not know our life: by them lives become known.
        """
        if letter.life < self.life:
            return False
        greeting = isinstance(letter.body, Advertisement | Inquiry)
        if letter.known != self._own_life and not greeting:
            return False
        if letter.life > self.life:
            self.life, self._newest, self._taken = letter.life, 0, set()
        if letter.number in self._taken or letter.number <= self._newest - _WINDOW:
            return False
        self._taken.add(letter.number)
        self._newest = max(self._newest, letter.number)
        if len(self._taken) > 2 * _WINDOW:
            self._taken = {number for number in self._taken if number > self._newest - _WINDOW}
        return True
