"""What owners of hosts did in past hours, and what is expected of them in the next one. It is pure.

The A-MM paper ("Enhanced Adaptive Scheduling for the Grid Harvest Service", section 2.2) keeps hourly means of 1,000
hours and predicts Alpha · (value of the hour) + Beta · (value of the day). It says "from experience" of both: here they
are fitted, with the sum 1. Start at `LoadHistory`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from cosched.prediction.loads.host_load import HostLoad
from cosched.prediction.loads.load_change import NOTICE, LoadChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["HOURS_KEPT", "HourlyLoad", "LoadCause", "LoadHistory", "hour_of"]

HOURS_KEPT = 1000  # as the paper
_MOST_ROWS = 100_000  # of more hosts fewer hours are kept, at least a week
_HOUR = 3600.0
_DAY, _WEEK = 24, 168  # hours
_NOTHING = 0.02  # part of a host; less is noise
_WHOLE = 0.9  # part of a host; who takes more takes all
_LONGEST_GAP = 120.0  # seconds between two looks; what was between looks further apart is not known
_DOUBT = _HOUR  # seconds that are added to those seen: a host is idle until proven otherwise
_UNFITTED = 0.5  # Alpha while there are fewer than two weeks
_FEWEST = 2 * _WEEK
_FITTED = 3 * _DAY  # hours that it is fitted to
_LITTLE = 6 * _HOUR  # seconds of a day that tell too little of it
_AGAIN = 300.0  # seconds after which expectations are formed anew
_LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75)
_STICKY = 1.2  # a level is left when the expected load is beyond its border by this factor


class LoadCause(StrEnum):
    """What takes of a host what is not ours."""

    OWNER = "owner"  # our programs there wait for him, or share the host with him
    JOBS = "jobs"  # the resource manager's other jobs, in between ours


_LONGEST = {LoadCause.OWNER: 12 * _HOUR}  # seconds; an owner who stays for longer has taken his host away


def hour_of(time: float) -> int:
    """Return the number of an hour since the epoch."""
    return int(time // _HOUR)


@dataclass(slots=True)
class HourlyLoad:
    """An hour of a host.

    Attributes:
        host: its name.
        hour: hours since the epoch.
        seconds: for how long it was seen.
        busy: seconds of these in which its owner was there.
        taken: host-seconds that he took of it, at most `busy`.
        presences: how often he left.
        lengths: sum of the lengths of his presences that ended, seconds.
        squares: sum of their squares.
        cause: whose presences these are.
    """

    host: str
    hour: int
    seconds: float = 0.0
    busy: float = 0.0
    taken: float = 0.0
    presences: int = 0
    lengths: float = 0.0
    squares: float = 0.0
    cause: LoadCause = LoadCause.OWNER


@dataclass(slots=True)
class _Presence:
    """An owner who is there.

    Attributes:
        since: when he came, epoch seconds.
        hours: seconds and host-seconds that he has had, by hour.
        withdrawn: whether he has been there for so long that the host is taken away, and these count no more.
    """

    since: float
    hours: dict[int, tuple[float, float]] = field(default_factory=dict)
    withdrawn: bool = False

    @property
    def whole(self) -> bool:
        """Whether he takes the whole host."""
        busy, taken = (sum(each) for each in zip(*self.hours.values(), strict=True)) if self.hours else (0.0, 0.0)
        return taken >= _WHOLE * busy


class LoadHistory:
    """Collects what hosts are seen to do, and says what load to expect of each.

    Hosts that nobody has been seen at have no records and cost nothing.

    Attributes:
        cause: whose presences are counted; all of an `observe` are of this one.
    """

    def __init__(self, cause: LoadCause = LoadCause.OWNER, *, follows: bool = True, notice: float = NOTICE) -> None:
        """Begin with nothing seen.

        Args:
            cause: whose presences are counted.
            follows: whether loads to plan with are what is seen, where that departs from what the past foretells.
            notice: host-seconds by which it must do so at least.
        """
        self.cause = cause
        self._follows = follows
        self._notice = notice
        self._longest = _LONGEST.get(cause, math.inf)
        self._seen: dict[str, float] = {}  # host → when it was seen first, epoch seconds
        self._rows: dict[str, dict[int, HourlyLoad]] = {}
        self._present: dict[str, _Presence] = {}
        self._taken: dict[str, float] = {}  # at the last look
        self._looked: float | None = None
        self._last: dict[str, float] = {}  # host → when it was seen last, epoch seconds
        self._changed: set[tuple[str, int]] = set()
        self._totals = HourlyLoad("", 0)
        self._levels: dict[str, float] = {}
        self._formed = -math.inf
        self._departed: dict[str, LoadChange] = {}
        self._alphas: dict[str, tuple[int, float]] = {}  # host → day of the fit, Alpha

    def load(self, rows: Iterable[HourlyLoad]) -> None:
        """Take up what a former process has kept."""
        for row in rows:
            self._rows.setdefault(row.host, {})[row.hour] = row
            self._count(row)

    def observe(self, taken: Mapping[str, float], time: float) -> None:
        """Take in a look at the hosts.

        Args:
            taken: part of each host that its owner takes now, 0…1; all hosts that are seen.
            time: epoch seconds.
        """
        for host in taken:
            self._seen.setdefault(host, time)
        since, self._looked = self._looked, time
        if since is not None and 0 < time - since <= _LONGEST_GAP:
            for host in self._rows:
                if host in taken and host in self._taken:
                    self._pass(host, since, time)
        for host in [each for each in self._present if time - self._last[each] > _LONGEST_GAP]:
            self._leave(host, self._last[host])  # he has switched it off; or nobody looked, and he may have left
        for host, part in taken.items():
            if part > _NOTHING and host not in self._present:
                self._come(host, time)
            elif part <= _NOTHING and host in self._present:
                self._leave(host, time)
        self._taken = dict(taken)
        self._last.update(dict.fromkeys(taken, time))

    def unwritten(self) -> list[HourlyLoad]:
        """Return the records that have changed since the last call."""
        changed, self._changed = self._changed, set()
        return [self._rows[host][hour] for host, hour in sorted(changed) if hour in self._rows.get(host, {})]

    def forget(self, time: float) -> int:
        """Forget what is too old, and hosts whose owners have stayed away for all that time.

        Returns:
            The first hour that is kept.
        """
        first = hour_of(time) - max(min(HOURS_KEPT, _MOST_ROWS // max(len(self._rows), 1)), _WEEK)
        for host, hours in list(self._rows.items()):
            for hour in [each for each in hours if each < first]:
                del hours[hour]
            if host not in self._present and not any(row.busy for row in hours.values()):
                del self._rows[host]
                self._levels.pop(host, None)
                self._departed.pop(host, None)
        self._totals = HourlyLoad("", 0)
        for row in self._every_row():
            self._count(row)
        return first

    def hosts(self) -> list[str]:
        """Return the hosts whose owners have been seen, sorted."""
        return sorted(self._rows)

    def hours(self, host: str) -> list[HourlyLoad]:
        """Return the kept hours of a host, the oldest first."""
        return [row for _, row in sorted(self._rows.get(host, {}).items())]

    def process(self, host: str) -> HostLoad:
        """Return how often a host was interrupted in all kept hours, and for how long; as measured, not in levels."""
        rows = self._rows.get(host, {}).values()
        presences = sum(row.presences for row in rows)
        idle = sum(row.seconds - row.busy for row in rows)
        if not presences or idle <= 0:
            return HostLoad()
        busy, taken = sum(row.busy for row in rows), sum(row.taken for row in rows)
        mean, square = (
            sum(each) / presences for each in zip(*((row.lengths, row.squares) for row in rows), strict=True)
        )
        return HostLoad(presences / idle, mean, square, taken / busy if busy else 1.0)

    def planned(self, host: str) -> float:
        """Return the level that plans reckon with: the part of the host that its owner takes."""
        return self._levels.get(host, 0.0)

    def taken_now(self, host: str) -> float:
        """Return which part of a host its owner took at the last look."""
        return self._taken.get(host, 0.0)

    def has_departed(self, host: str) -> bool:
        """Return whether a host's load is another than its past foretells."""
        change = self._departed.get(host)
        return change is not None and change.observed is not None

    def expected(self, host: str, hour: int) -> float:
        """Return which part of a host its owner is expected to take in an hour: Alpha · valueHour + Beta · valueDay."""
        return self._mixed(self._rows.get(host, {}), hour, self._alpha(host, hour // _DAY))

    def coming(self, host: str, time: float) -> float:
        """Return which part of a host its owner is expected to take in the coming sixty minutes."""
        hour = hour_of(time)
        rest = (hour + 1) - time / _HOUR
        return rest * self.expected(host, hour) + (1 - rest) * self.expected(host, hour + 1)

    def loads(self, time: float) -> dict[str, HostLoad]:
        """Return the load to plan with of each host that has one, in few levels.

        Levels change rarely: every change makes a new plan. How long presences last is that of all hosts together.
        """
        if not self._rows:
            return {}
        if time >= self._formed + _AGAIN or time < self._formed:
            self._formed = time
            coming = {host: self.coming(host, time) for host in self._rows}
        else:
            coming = {}
        found = {}
        for host in self._rows:
            if host in coming:
                self._watched(host).expect(coming[host])
            change = self._departed.get(host)
            if change is None:
                continue
            departed = self._follows and change.observed is not None
            value = change.observed if departed and change.observed is not None else change.expected
            level = self._levels[host] = _level(value, self._levels.get(host, 0.0))
            if level:
                found[host] = self.at_level(level)
        return found

    def at_level(self, lost: float) -> HostLoad:
        """Return the load that takes a part of a host, with presences as long as all that were seen."""
        totals = self._totals
        depth = totals.taken / totals.busy if totals.busy else 1.0
        depth = max(math.ceil(depth * 4) / 4, lost + 0.05)
        mean = totals.lengths / totals.presences if totals.presences else 60.0
        square = totals.squares / totals.presences if totals.presences else 2 * mean**2
        mean = 2.0 ** round(math.log2(max(mean, 1.0)))  # in few steps: plans are made anew with each
        square = max(mean * 2.0 ** round(math.log2(max(square / mean, 1.0))), mean**2)
        busy = lost / depth
        return HostLoad(busy / (1 - busy) / mean, mean, square, depth)

    def _watched(self, host: str) -> LoadChange:
        return self._departed.setdefault(host, LoadChange(notice=self._notice))

    def _pass(self, host: str, since: float, until: float) -> None:
        """Note that the last look's load lasted from one time to another."""
        part = self._taken[host]
        presence = self._present.get(host)
        for hour, seconds in _split(since, until):
            if presence is None:
                self._row(host, hour).seconds += seconds
            elif not presence.withdrawn:
                busy, taken = presence.hours.get(hour, (0.0, 0.0))
                presence.hours[hour] = busy + seconds, taken + part * seconds
                self._add(host, hour, seconds, part * seconds)
        if (
            presence is not None
            and not presence.withdrawn
            and until - presence.since > self._longest
            and presence.whole
        ):
            presence.withdrawn = True
            for hour, (busy, taken) in presence.hours.items():
                self._add(host, hour, -busy, -taken)
        if host in self._departed:
            usual = math.sqrt(self._totals.squares / self._totals.presences) if self._totals.presences else 0.0
            self._departed[host].observe(part, until - since, usual)

    def _come(self, host: str, time: float) -> None:
        if host not in self._rows:  # until now he was away
            self._rows[host] = {}
            self._row(host, hour_of(time))
            for hour, seconds in _split(max(self._seen[host], time - HOURS_KEPT * _HOUR), time):
                self._row(host, hour).seconds = seconds
            self._formed = -math.inf
        self._present[host] = _Presence(time)

    def _leave(self, host: str, time: float) -> None:
        presence = self._present.pop(host)
        length = time - presence.since
        if presence.withdrawn:
            return
        row = self._row(host, hour_of(presence.since))
        row.presences += 1
        row.lengths += length
        row.squares += length**2
        self._count(HourlyLoad(host, 0, presences=1, lengths=length, squares=length**2))

    def _add(self, host: str, hour: int, busy: float, taken: float) -> None:
        """Add seconds in which an owner was there, and the host-seconds that he took; below 0 to withdraw them."""
        row = self._row(host, hour)
        row.seconds += busy
        row.busy += busy
        row.taken += taken
        self._count(HourlyLoad(host, hour, busy=busy, taken=taken))

    def _row(self, host: str, hour: int) -> HourlyLoad:
        self._changed.add((host, hour))
        return self._rows[host].setdefault(hour, HourlyLoad(host, hour, cause=self.cause))

    def _every_row(self) -> Iterator[HourlyLoad]:
        for hours in self._rows.values():
            yield from hours.values()

    def _count(self, row: HourlyLoad) -> None:
        totals = self._totals
        totals.busy += row.busy
        totals.taken += row.taken
        totals.presences += row.presences
        totals.lengths += row.lengths
        totals.squares += row.squares

    def _mixed(self, rows: Mapping[int, HourlyLoad], hour: int, alpha: float) -> float:
        by_day = _value_of_day(rows, hour)
        by_hour = _value_of_hour(rows, hour, by_day or 0.0)
        if by_hour is not None and by_day is not None:
            return alpha * by_hour + (1 - alpha) * by_day
        return next((value for value in (by_hour, by_day, _mean(rows.values())) if value is not None), 0.0)

    def _alpha(self, host: str, day: int) -> float:
        """Return the Alpha of a host, fitted once a day."""
        known = self._alphas.get(host)
        if known is None or known[0] != day:
            known = self._alphas[host] = (day, _fitted_alpha(self._rows.get(host, {})))
        return known[1]


def _fitted_alpha(rows: Mapping[int, HourlyLoad]) -> float:
    """Return the Alpha of least squares over the last known hours, 0…1."""
    if not rows or max(rows) - min(rows) < _FEWEST:
        return _UNFITTED
    above = below = 0.0
    for hour in sorted(rows)[-_FITTED:]:
        row, by_day = rows[hour], _value_of_day(rows, hour, other=True)
        by_hour = _value_of_hour(rows, hour, by_day or 0.0)
        if row.seconds and by_hour is not None and by_day is not None:
            above += (row.taken / row.seconds - by_day) * (by_hour - by_day)
            below += (by_hour - by_day) ** 2
    return min(max(above / below, 0.0), 1.0) if below else _UNFITTED


def _split(since: float, until: float) -> Iterator[tuple[int, float]]:
    """Yield the hours between two times with the seconds in each."""
    while since < until:
        end = min((hour_of(since) + 1) * _HOUR, until)
        yield hour_of(since), end - since
        since = end


def _value_of_hour(rows: Mapping[int, HourlyLoad], hour: int, day: float) -> float | None:
    """Return the mean load in the same hour of other days; None where it was not seen.

    As long as it was seldom seen it is taken to be much as the `day`.
    """
    past = range(hour - _DAY, hour - HOURS_KEPT - 1, -_DAY)
    return _mean((rows[each] for each in past if each in rows), day)


def _value_of_day(rows: Mapping[int, HourlyLoad], hour: int, *, other: bool = False) -> float | None:
    """Return the mean load of this day so far and of the same weekday; with `other` of these alone.

    Where little was seen of these, the last day counts, whichever it was.
    """
    today = hour - hour % _DAY
    days = range(today - _WEEK if other else today, hour - HOURS_KEPT - 1, -_WEEK)
    found = [rows[each] for day in days for each in range(day, day + _DAY) if each in rows]
    if not other and sum(row.seconds for row in found) < _LITTLE:
        found += [rows[each] for each in range(hour - _DAY, today) if each in rows]
    return _mean(found)


def _mean(rows: Iterable[HourlyLoad], doubted: float = 0.0) -> float | None:
    """Return the mean load of hours, with an hour more of the `doubted` one; None where nothing was seen."""
    seconds = taken = 0.0
    for row in rows:
        seconds += row.seconds
        taken += row.taken
    return (taken + _DOUBT * doubted) / (seconds + _DOUBT) if seconds else None


def _level(value: float, current: float) -> float:
    """Return the level of a load: the nearest, or the current one while that is near enough."""
    place = _LEVELS.index(current)
    low = (_LEVELS[place - 1] + current) / 2 if place else 0.0
    high = (_LEVELS[place + 1] + current) / 2 if place + 1 < len(_LEVELS) else math.inf
    if low / _STICKY <= value <= high * _STICKY:
        return current
    return min(_LEVELS, key=lambda level: abs(level - value))
