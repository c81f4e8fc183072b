"""Offers to leads of elastic tasks, and the events of what leads say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.api.documents import OfferView, StageOrder, StopOrder, WorkerOrder
from cosched.connector.values import safe
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.elastic.values import WorkerOverhead
from cosched.coscheduler.events import (
    HostsWished,
    LeadAnnounced,
    OverheadsMeasured,
    ResizeWished,
    SpeedsMeasured,
    StageDone,
    WorkerDrained,
    WorkerRefused,
    WorkReported,
)
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.api.documents import LeadMessage, OverheadReport, ResizeRequest
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import LeadEvent

__all__ = ["events_of", "offer_of", "resize_events"]

_LONGEST_WORDS = 500
_MOST_WORKERS = 10_000  # in one message
_LONGEST_NUMBER = 9  # digits
_ROUNDING = 1e-6  # by which parts of the time may add up to more than all of it


def offer_of(core: Coscheduler, lead: Attempt) -> OfferView:
    """Return what a lead and each of its workers are to do, as the core has it."""
    assert lead.lead is not None
    orders, clusters = [], core.domain.clusters()
    for worker in core.workers_of(lead.task):
        order = "leave" if worker.leaves else "stay" if worker.state is AttemptState.RUNNING else "join"
        orders.append(
            WorkerOrder(
                worker=worker.worker,
                host=worker.hosts[0],
                order=order,
                by=worker.leave_by,
                reason=worker.reason if worker.leaves else "",
                cluster=clusters.get(worker.hosts[0], ""),
            )
        )
    stop = None if lead.leave_by is None else StopOrder(by=lead.leave_by, reason=lead.lead.why)
    return OfferView(
        task=lead.task,
        revision=lead.lead.revision,
        workers=tuple(orders),
        stop=stop,
        cluster=clusters.get(lead.hosts[0], ""),
        stage=_stage_order(core, lead),
    )


def _stage_order(core: Coscheduler, lead: Attempt) -> StageOrder | None:
    """Return what the lead of a whole chain is to do; None for others."""
    task, status = core.tasks[lead.task], lead.lead
    assert status is not None
    if task.stage is None or not status.whole_chain:
        return None
    waits = status.gathers or status.stage_done is not None
    ends = status.stage_done is not None and not core.chain_leads.goes_on(task)
    return StageOrder(
        task=task.id,
        order="end" if ends else "wait" if waits else "run",
        name=task.spec.environment.get("COSCHED_STAGE", ""),
        turn=int(task.spec.environment.get("COSCHED_TURN", "0")),
        hosts=task.spec.count,
        quality=task.stage.quality,
        parameters=dict(task.spec.parameters),
    )


def events_of(lead: Attempt, message: LeadMessage, time: float) -> list[LeadEvent]:
    """Return the events of a message that was checked.

    Raises:
        UserError: a value is at fault; nothing of the message counts.
    """
    assert lead.lead is not None
    events: list[LeadEvent] = []
    if message.address is not None or message.drains is not None:
        address = lead.lead.address if message.address is None else _words(message.address, "the address")
        drains = lead.lead.drains if message.drains is None else message.drains
        if (address, drains) != (lead.lead.address, lead.lead.drains):
            events.append(LeadAnnounced(time, lead.uuid, address, drains))
    named = (message.drained, message.refused, message.speeds, message.overheads)
    if sum(map(len, named)) > _MOST_WORKERS:
        raise UserError(f"the message names more than {_MOST_WORKERS} workers: send several")
    events += [WorkerDrained(time, lead.uuid, number) for number in dict.fromkeys(message.drained)]
    for number, reason in message.refused.items():
        events.append(WorkerRefused(time, lead.uuid, _worker(number, "refused"), _words(reason, "the reason")))
    if message.most is not None:
        if not (message.most == -1 or 1 <= message.most <= _MOST_WORKERS):
            raise UserError(f"most is {message.most}: give a number of hosts from 1, or -1 for as many as can be")
        most = None if message.most == -1 else message.most
        if most != lead.lead.most or lead.lead.enough is not None:
            events.append(HostsWished(time, lead.uuid, most))
    if message.resize is not None:
        events += resize_events(lead, message.resize, time)
    if (fraction := _fraction(message)) is not None:
        events.append(WorkReported(time, lead.uuid, fraction))
    return events + _measured(lead, message, time)


def resize_events(lead: Attempt, wish: ResizeRequest, time: float) -> list[LeadEvent]:
    """Return the event of a wish for other numbers of hosts; none where it changes nothing.

    Raises:
        UserError: a value is at fault.
    """
    assert lead.lead is not None
    for word, number in (("least", wish.least), ("most", wish.most)):
        if number is not None and not 1 <= number <= _MOST_WORKERS:
            raise UserError(f"{word} is {number}: give a number of hosts from 1 to {_MOST_WORKERS}")
    if wish.most is not None and wish.least > wish.most:
        raise UserError(f"least is {wish.least} and most {wish.most}: give the smaller number as least")
    if (wish.least, wish.most, None) == (lead.lead.floor, lead.lead.ceiling, lead.lead.enough):
        return []
    return [ResizeWished(time, lead.uuid, wish.least, wish.most)]


def _measured(lead: Attempt, message: LeadMessage, time: float) -> list[LeadEvent]:
    """Return the events of what a lead has measured of its workers."""
    events: list[LeadEvent] = []
    if message.speeds:
        events.append(SpeedsMeasured(time, lead.uuid, _speeds(message.speeds)))
    if message.overheads:
        overheads = tuple([_overhead(number, given) for number, given in message.overheads.items()])
        events.append(OverheadsMeasured(time, lead.uuid, overheads))
    if message.stage_done:
        events.append(StageDone(time, lead.uuid, _words(message.stage_done, "the stage")))
    return events


def _worker(number: str, where: str) -> int:
    if not (number.isascii() and number.isdecimal() and len(number) <= _LONGEST_NUMBER):
        raise UserError(f"{where} names the worker {number[:40]!r}: give its number")
    return int(number)


def _speeds(given: Mapping[str, float]) -> tuple[tuple[int, float], ...]:
    for number, speed in given.items():
        if not 0 < speed < math.inf:
            raise UserError(f"the speed of worker {number[:40]} is {speed:g}: give a number above 0, in any unit")
    return tuple((_worker(number, "speeds"), speed) for number, speed in given.items())


def _overhead(number: str, given: OverheadReport) -> WorkerOverhead:
    parts = (given.idle, given.intra, given.inter)
    if not (all(part >= 0 for part in parts) and sum(parts) <= 1 + _ROUNDING):
        said = ", ".join(f"{part:g}" for part in parts)
        raise UserError(
            f"the overheads of worker {number[:40]} are {said}: give parts of the time, from 0 and together at most 1"
        )
    return WorkerOverhead(_worker(number, "overheads"), *parts)


def _words(text: str, what: str) -> str:
    if len(text) > _LONGEST_WORDS:
        raise UserError(f"{what} has {len(text)} characters: give at most {_LONGEST_WORDS}")
    return str(safe(text, what))


def _fraction(message: LeadMessage) -> float | None:
    """Return the part of the work that is done; None where nothing is said of it."""
    if message.fraction is not None:
        fraction = message.fraction
    elif message.done is not None:
        if message.total is None or not 0 < message.total < math.inf:
            raise UserError("done goes with total, which is above 0: give both")
        fraction = message.done / message.total
    else:
        return None
    if not 0 <= fraction <= 1:
        raise UserError(f"{fraction:g} of the work is said to be done: give a part from 0 to 1, done at most total")
    return fraction
