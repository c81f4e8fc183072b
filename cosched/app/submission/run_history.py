"""Predictions from runs that were like a new task.

Start at `RunHistory.profile`.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from cosched.api.documents import Evidence, NearRun
from cosched.prediction.coverage import Width
from cosched.prediction.history import FEWEST_RUNS, MOST_RUNS, Run, history_profile
from cosched.prediction.learning import LearntRuns
from cosched.prediction.others.exponents import USUAL_NUMBER
from cosched.prediction.others.other_programs import OtherPrograms
from cosched.prediction.others.startup import StartUps
from cosched.prediction.profile import PredictionSource, slowest_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.coscheduler.changes import RunRecord
    from cosched.prediction.history import History
    from cosched.prediction.others.exponents import Exponent
    from cosched.prediction.pooling import Pool
    from cosched.prediction.profile import Profile
    from cosched.prediction.run_features import RunFeatures
    from cosched.store.runs import RunTable

__all__ = ["RunHistory"]

_L = TypeVar("_L", "History", "Pool")
_P = TypeVar("_P", "Profile", "Profile | None")

_MOST_REMEMBERED = 1024  # programs
_MOST_ANSWERS = 32  # of one key: a task may have several shapes, and each is predicted by itself
_NEAREST = 3  # runs that are shown
_MOST_SAME, _MOST_LOOKED_AT = 50, 200  # runs with the same numbers, of the newest
_MOST_JUDGED = 2000  # runs of all programs, by which the width of ranges is learnt
_MOST_STARTED = 300  # runs of all programs, by which start-up is learnt
_MOST_EACH = 20  # runs of a program, by which others are foretold
_MOST_OF_ALL = 500  # of all: they are learnt from in up to 25 ms
_OTHERS_LAST = 120  # times as long as it may take until a new run is noticed: exponents of all programs change slowly
_LONGEST_TRY = 3.0  # times as long as on the best number of hosts; what is expected to take longer is not tried


@dataclass(frozen=True, slots=True)
class _Known:
    """Runs of one key and what they teach.

    Attributes:
        newest: its newest run.
        looked: when a newer one was looked for, seconds of the monotonic clock.
        learnt: what the runs taught.
        told: the last predictions, by what was asked for.
        corrected: the last answers to what a model or a user says, by the question.
        alone: what its own runs say alone, by what they say with those of other programs.
        owed: tries of other numbers of hosts that tasks have earned; one whole try is taken.
        turns: how many of `RunHistory.turn` were taken.
    """

    newest: int
    looked: float
    learnt: LearntRuns
    told: Mapping[tuple[tuple[float, ...], range, tuple[str, ...], str], Profile | None] = field(default_factory=dict)
    corrected: Mapping[tuple[tuple[float, ...], Profile, tuple[str, ...], str], Profile] = field(default_factory=dict)
    alone: Mapping[Profile, Profile] = field(default_factory=dict)
    owed: float = 0.0
    turns: int = 0


class RunHistory:
    """Learns from the runs that are kept. May be used from several threads."""

    def __init__(
        self,
        runs: RunTable,
        look: float = 0.0,
        explore: float = 0.0,
        learn: Callable[[Sequence[Run], Exponent], LearntRuns] = LearntRuns.of,
    ) -> None:
        """Set up.

        Args:
            runs: the runs.
            look: seconds after which a new run must have been noticed: thousands of tasks may come at once.
            explore: share of tasks that try a number of hosts which may be faster, and which few runs had.
            learn: learns from runs of one key anew, which takes a while; see `LearntRuns.of`.
        """
        self._runs = runs
        self._look = look
        self._explore = explore
        self._learn = learn
        self._guard = threading.Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._width, self._judged, self._looked = Width(), 0, -math.inf
        self._start_ups, self._started = StartUps(()), -math.inf
        self._others, self._others_read = OtherPrograms(()), -math.inf

    def profile(
        self, features: RunFeatures, counts: range, classes: Sequence[str], program: str = ""
    ) -> Profile | None:
        """Return what earlier runs tell of a new one.

        A number of hosts that no run had is foretold from half the smallest to twice the largest that one had.

        Args:
            features: what decides how long it runs.
            counts: numbers of hosts that it may have.
            classes: classes of the hosts; empty where the manager names none.
            program: digest of the program.

        Returns:
            The prediction; None after fewer than `FEWEST_RUNS` runs, or where none had such a number of hosts.

        Raises:
            StoreFault: the runs cannot be read.
        """
        known = self._known_of(features)
        if known.learnt.history is None:
            return None
        place = features.numbers, counts, tuple(classes), program
        if place in known.told:
            return known.told[place]
        low, high = min(known.learnt.history.counts), max(known.learnt.history.counts)
        usable = [count for count in counts if low <= 2 * count and count <= 2 * high]
        if not usable:
            return None

        def told(history: History) -> Profile | None:
            found = [history_profile(history, features.numbers, usable, name, program) for name in classes or ("",)]
            each = [profile for profile in found if profile is not None]
            profile = slowest_profile(each, "+".join(classes)) if len(each) == len(found) else None
            return profile and profile.widened(self._width_now().factor)

        profile, known = self._beside_others(known, known.learnt.history, told)
        self._keep(features.key, replace(known, told=_with_answer(known.told, place, profile)))
        return profile

    def corrected(
        self, features: RunFeatures, stated: Profile, classes: Sequence[str], program: str = "", launch: str = ""
    ) -> Profile:
        """Return the prediction of a model or a user as earlier runs have corrected it.

        Before there are any, a model's has the start-up that other programs had which were launched likewise.

        Args:
            features: what decides how long it runs.
            stated: what is said, from nothing that was learnt.
            classes: classes of the hosts; empty where the manager names none.
            program: digest of the program.
            launch: how its processes are launched.

        Raises:
            StoreFault: the runs cannot be read.
        """
        known = self._known_of(features)
        pool = known.learnt.stated
        if pool is None:
            is_model = stated.source is PredictionSource.MODEL
            return self._start_ups_now().added(stated, launch) if is_model and launch else stated
        place = features.numbers, stated, tuple(classes), program
        if place in known.corrected:
            return known.corrected[place]
        if stated.classes:
            parts = [(each, each.hardware) for each in stated.classes]
        else:  # one prediction for all hosts, whatever their classes are
            parts = [(stated, name) for name in classes or ("",)]

        def told(pool: Pool) -> Profile:
            made = [pool.corrected(features.numbers, each, name, program) for each, name in parts]
            each = [part for part in made if part is not None]
            if len(each) < len(made):
                return stated
            found = slowest_profile(each, stated.hardware)
            return (found if stated.classes else replace(found, classes=())).widened(self._width_now().factor)

        found, known = self._beside_others(known, pool, told)
        self._keep(features.key, replace(known, corrected=_with_answer(known.corrected, place, found)))
        return found

    def explored(self, features: RunFeatures, profile: Profile, longest: float) -> Profile:
        """Return the prediction, now and then for a number of hosts to try.

        That is a number which fewer than `FEWEST_RUNS` runs had, and on which the run may be faster than on any other,
        as far as its own runs tell: that other programs were not is no reason never to try it.

        Args:
            features: what decides how long it runs.
            profile: the prediction of earlier runs, or as they have corrected it.
            longest: seconds that the run must be expected to stay below.

        Raises:
            StoreFault: the runs cannot be read.
        """
        known = self._known_of(features)
        history = known.learnt.stated if profile.stated else known.learnt.history
        if not self._explore or history is None or profile.low is None or profile.high is None:
            return profile
        few = {count for count in range(1, len(profile.seconds) + 1) if history.tried(count) < FEWEST_RUNS}
        few -= {profile.best_count}
        lows = known.alone.get(profile, profile).low or profile.low
        best, ends = profile.shortest, zip(profile.seconds, lows, profile.high, strict=True)
        hopes = [
            (least, count)
            for count, (expected, least, most) in enumerate(ends, 1)
            if count in few and least < best and expected <= _LONGEST_TRY * best and most <= longest
        ]
        if not hopes:
            return profile
        owed = known.owed + self._explore
        self._keep(features.key, replace(known, owed=owed % 1.0))
        count = min(hopes)[1]
        return replace(profile.limited(count, count), explores=True) if owed >= 1.0 else profile

    def evidence(self, features: RunFeatures, profile: Profile, count: int) -> Evidence | None:
        """Return on which runs a prediction rests; None where it rests on none.

        Args:
            features: what decides how long it runs.
            profile: the prediction.
            count: number of hosts that it would have.

        Raises:
            StoreFault: the runs cannot be read.
        """
        learnt = self._known_of(features).learnt
        history = learnt.stated.alone if profile.stated and learnt.stated is not None else learnt.history
        if history is None or not profile.runs:
            return None
        nearest = history.nearest(features.numbers, count, _NEAREST)
        usable = [number for number, seconds in enumerate(profile.seconds, 1) if seconds < math.inf]
        return Evidence(
            nearest=tuple([_near(run) for run in nearest]),
            beyond=tuple(
                f"{number:g} is {'more' if number > most else 'less'} than "
                f"{f'all runs had ({least:g} to {most:g})' if least < most else f'{least:g}, as all runs had'}"
                for number, least, most in history.beyond(features.numbers)
            ),
            untried=tuple(number for number in usable if number not in history.counts),
        )

    def same_runs(self, features: RunFeatures) -> tuple[NearRun, ...]:
        """Return the newest runs with the same numbers, the newest last.

        Raises:
            StoreFault: the runs cannot be read.
        """
        return tuple([_near(run) for run in self._runs.same(features, _MOST_LOOKED_AT)[-_MOST_SAME:]])

    def more_runs(self, features: RunFeatures) -> int:
        """Return how many more runs a command without a model must have to be predicted.

        Raises:
            StoreFault: the runs cannot be read.
        """
        return max(FEWEST_RUNS - self._known_of(features).learnt.count, 0)

    def turn(self, features: RunFeatures, *, taken: bool = True) -> int:
        """Return how many turns runs like one have taken: what is to vary from one to the next goes by it.

        Args:
            features: what decides how long it runs.
            taken: whether this one takes its turn.

        Raises:
            StoreFault: the runs cannot be read.
        """
        known = self._known_of(features)
        if taken:
            self._keep(features.key, replace(known, turns=known.turns + 1))
        return known.turns

    def _beside_others(self, known: _Known, learnt: _L, told: Callable[[_L], _P]) -> tuple[_P, _Known]:
        """Return what a program's runs tell with those of others; what they tell alone is remembered where it differs.

        Args:
            known: of the program.
            learnt: from its runs.
            told: what that tells.
        """
        heard = copy(learnt)
        heard.hear(self._others_now())
        found = told(heard)
        if found is None or not self._explore or len(learnt.counts) > 1:
            return found, known
        alone = told(learnt)
        return found, known if alone is None else replace(known, alone=_with_answer(known.alone, found, alone))

    def _start_ups_now(self) -> StartUps:
        """Return what starting programs takes beside what their models say."""
        with self._guard:
            now = time.monotonic()
            if now >= self._started + self._look:
                self._started, self._start_ups = now, StartUps(self._runs.launched(_MOST_STARTED))
            return self._start_ups

    def _others_now(self) -> OtherPrograms:
        """Return what the runs of all programs tell of another."""
        with self._guard:
            now = time.monotonic()
            if now >= self._others_read + _OTHERS_LAST * self._look:
                self._others_read, self._others = now, OtherPrograms(self._runs.of_programs(_MOST_EACH, _MOST_OF_ALL))
            return self._others

    def _width_now(self) -> Width:
        """Return how wide ranges must be, from how often those of all programs held."""
        with self._guard:
            now = time.monotonic()
            if now >= self._looked + self._look:
                self._looked = now
                for number, within in self._runs.held(self._judged, _MOST_JUDGED):
                    self._judged, self._width = number, self._width.learn(within=within)
            return self._width

    def _known_of(self, features: RunFeatures) -> _Known:
        with self._guard:
            known = self._known.get(features.key)
        now = time.monotonic()
        if known is not None and now < known.looked + self._look:
            return known
        newest = self._runs.newest(features.key)
        if known is not None and known.newest == newest:
            return self._keep(features.key, replace(known, looked=now))
        found, owed, turns = None, 0.0, 0
        if known is not None:
            owed, turns = known.owed, known.turns
            if newest > known.newest and known.learnt.room > 0:
                newer = self._runs.since(features.key, known.newest, known.learnt.room + 1)
                found = known.learnt.with_runs(self._like(features, newer))
        if found is None:
            runs = self._like(features, self._runs.of(features.key, MOST_RUNS))
            number = self._others_now().number(features.key) if len(runs) >= FEWEST_RUNS else USUAL_NUMBER
            found = self._learn(runs, number)
        return self._keep(features.key, _Known(newest, now, found, owed=owed, turns=turns))

    @staticmethod
    def _like(features: RunFeatures, kept: Sequence[RunRecord]) -> list[Run]:
        return [
            Run(each.numbers, each.hosts, each.hardware, each.seconds, each.program_digest, each.stated or None)
            for each in kept
            if len(each.numbers) == len(features.numbers)
        ]

    def _keep(self, key: str, known: _Known) -> _Known:
        with self._guard:
            self._known[key] = known
            self._known.move_to_end(key)
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return known


_Q = TypeVar("_Q")
_A = TypeVar("_A")


def _near(run: Run | RunRecord) -> NearRun:
    return NearRun(numbers=run.numbers, hosts=run.hosts, seconds=run.seconds)


def _with_answer(known: Mapping[_Q, _A], question: _Q, answer: _A) -> dict[_Q, _A]:
    """Return answers with one more; too many are given up together."""
    return {**(known if len(known) < _MOST_ANSWERS else {}), question: answer}
