"""From slots to hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, Host, HostShare
from cosched_condor.machines import (
    IdleClaims,
    JobRequirements,
    OwnClusters,
    PlaceAttributes,
    pool_hosts,
    slot_projection,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _hosts(slots: Sequence[Mapping[str, object]], attribute: str = "", cluster: str = "", **needs: float) -> list[Host]:
    places = PlaceAttributes(attribute, cluster)
    return pool_hosts(slots, places, lambda slot: str(slot["JobId"]).startswith("7."), JobRequirements(**needs))


def test_a_machine_with_anothers_job_is_claimed_and_one_with_ours_is_not() -> None:
    taken = {"Machine": "a", "State": "Claimed", "Activity": "Busy", "RemoteOwner": "eve@pool"}
    assert _hosts([{**taken, "JobId": "7.1"}]) == [Host("a")]
    assert _hosts([{**taken, "JobId": "8.0"}]) == [Host("a", reason="claimed by eve@pool", claimed=True)]
    assert _hosts([{**taken, "Activity": "Idle"}]) == [Host("a")]
    assert _hosts([{"Machine": "a", "State": "Owner"}])[0].claimed
    assert _hosts([{**taken, "JobId": "8.0"}, {"Machine": "a", "State": "Unclaimed"}]) == [Host("a")]


def test_a_machine_from_which_anothers_job_is_driven_away_is_claimed_until_it_has_gone() -> None:
    """Tasks were sent there, waited in vain while other hosts were idle, and failed after five such tries."""
    leaving: dict[str, object] = {"Machine": "a", "State": "Preempting", "Activity": "Vacating"}
    assert _hosts([{**leaving, "JobId": "8.0"}])[0].claimed
    assert not _hosts([{**leaving, "JobId": "7.1"}])[0].claimed
    part = {**leaving, "Name": "slot1_1@a", "DynamicSlot": True, "Cpus": 4, "Memory": 100, "JobId": "8.0"}
    whole = {"Machine": "a", "PartitionableSlot": True, "TotalSlotCpus": 8, "TotalSlotMemory": 900, "Cpus": 4}
    assert _hosts([whole, part])[0].others == HostShare(100, 4)


@pytest.mark.parametrize("value", ["x", None, float("nan"), float("inf"), -4, 10**400, [1]])
def test_a_host_that_says_odd_things_of_itself_keeps_no_other_from_being_seen(value: object) -> None:
    names = ("Cpus", "Memory", "Disk", "GPUs", "TotalSlotCpus", "TotalSlotMemory", "TotalSlotGPUs")
    odd = {"Machine": "odd", "State": "Claimed", "JobId": "8.0", "Start": value, **dict.fromkeys(names, value)}
    slots = [{**odd, "PartitionableSlot": True}, {**odd, "DynamicSlot": True}, odd]
    assert Host("plain") in _hosts([*slots, {"Machine": "plain", "State": "Unclaimed"}])


def test_each_static_slot_is_a_host_where_that_is_set() -> None:
    one: dict[str, object] = {"Machine": "a", "Name": "slot1@a", "State": "Unclaimed", "Cpus": 16, "Memory": 4096}
    two = {**one, "Name": "slot2@a", "Cpus": 48, "State": "Claimed", "JobId": "8.0", "RemoteOwner": "eve@pool"}
    parted = {"Machine": "b", "Name": "slot1@b", "PartitionableSlot": True, "TotalSlotCpus": 64, "State": "Unclaimed"}
    part = {"Machine": "b", "Name": "slot1_1@b", "DynamicSlot": True, "Cpus": 4, "State": "Claimed", "JobId": "7.0"}
    found = pool_hosts([one, two, parted, part], PlaceAttributes(), lambda _: False, JobRequirements(), slot_hosts=True)
    assert [(host.name, host.cores, host.unparted, host.claimed) for host in found] == [
        ("b", 64, False, True),
        ("slot1@a", 16, True, False),
        ("slot2@a", 48, True, True),
    ]
    assert [host.name for host in _hosts([one, two, parted, part])] == ["a", "b"]


def test_an_owner_has_the_slots_in_his_state_and_those_where_jobs_stand_still() -> None:
    slot = {"Machine": "a", "State": "Claimed", "Activity": "Busy", "JobId": "7.1"}
    assert _hosts([slot])[0].owner_takes == 0
    assert _hosts([{**slot, "Activity": "Suspended"}])[0].owner_takes == 1
    assert _hosts([{"Machine": "a", "State": "Owner", "Start": False}])[0].owner_takes == 1
    assert _hosts([{"Machine": "a", "State": "Unclaimed", "Start": False}])[0].owner_takes == 1
    assert _hosts([{**slot, "Start": False}])[0].owner_takes == 0  # the job goes on
    assert _hosts([slot, {"Machine": "a", "State": "Owner"}])[0].owner_takes == 0.5
    assert _hosts([{**slot, "JobId": "8.0"}])[0].owner_takes == 0  # a foreign job is no owner
    assert _hosts([{"Machine": "a", "State": "Owner", "Draining": True}])[0].owner_takes == 0


def test_a_partitionable_slot_is_claimed_when_too_little_of_it_is_left() -> None:
    whole: dict[str, object] = {
        "Machine": "a",
        "PartitionableSlot": True,
        "Cpus": 2,
        "Memory": 1000,
        "TotalSlotCpus": 8,
        "TotalSlotMemory": 2000,
        "State": "Unclaimed",
    }
    part = {"Machine": "a", "DynamicSlot": True, "Cpus": 6, "Memory": 1000, "State": "Claimed"}
    host = Host("a", memory=2000, cores=8, gpus=0)
    foreign = {**part, "JobId": "8.0", "RemoteOwner": "eve@pool"}
    held = replace(host, reason="claimed by eve@pool", others=HostShare(1000, 6))
    assert _hosts([whole, foreign], Cpus=2) == [held]
    assert _hosts([whole, foreign], Cpus=4) == [replace(held, claimed=True)]
    assert _hosts([whole, {**part, "JobId": "7.0"}], Cpus=8, Memory=2000) == [host]
    assert _hosts([whole, {**part, "JobId": "7.0"}], GPUs=1)[0].claimed


def test_a_slot_that_is_shown_full_when_nobody_is_on_it_any_more_is_not_claimed() -> None:
    """The collector hears of the end of a dynamic slot before it hears what is left of the partitionable one."""
    stale = {"Machine": "a", "PartitionableSlot": True, "Cpus": 0, "Memory": 0, "State": "Unclaimed"}
    (host,) = _hosts([{**stale, "TotalSlotCpus": 8, "TotalSlotMemory": 2000}], Cpus=1, Memory=100)
    assert (host.up, host.claimed, host.others) == (True, False, HostShare())


def test_foreign_jobs_hold_their_dynamic_slots_together() -> None:
    whole: dict[str, object] = {"Machine": "a", "PartitionableSlot": True, "Cpus": 50, "TotalSlotCpus": 64}
    part = {"Machine": "a", "DynamicSlot": True, "State": "Claimed", "Memory": 100, "GPUs": 1}
    slots = [whole, *({**part, "Cpus": cores, "JobId": job} for cores, job in ((8, "8.0"), (4, "7.0"), (2, "9.0")))]
    assert _hosts(slots)[0].others == HostShare(200, 10, 2)


def test_a_dynamic_slot_that_another_user_keeps_claimed_without_a_job_is_not_free() -> None:
    """A parallel job's claim outlives it by ten minutes; a task that was planned there was called back five times."""
    whole = {"Machine": "a", "Name": "slot1@a", "PartitionableSlot": True, "Cpus": 14, "GPUs": 0}
    totals = {"TotalSlotCpus": 16, "TotalSlotMemory": 4096, "TotalSlotGPUs": 2, "Memory": 4096, "State": "Unclaimed"}
    part = {"Machine": "a", "Name": "slot1_1@a", "DynamicSlot": True, "Cpus": 2, "Memory": 1024, "GPUs": 2}
    idle = {**part, "State": "Claimed", "Activity": "Idle", "RemoteOwner": "ann@pool"}
    slots, claims = [{**whole, **totals}, idle], IdleClaims()

    def others(slots: Sequence[Mapping[str, object]], now: float) -> HostShare:
        held = claims.held(slots, ["cosched"], now)
        return pool_hosts(slots, PlaceAttributes(), lambda _: False, JobRequirements(), idle_claims=held)[0].others

    assert others(slots, 0) == HostShare()  # a job of hers may be about to begin, an adopted one too
    assert others(slots, 30) == HostShare(1024, 2, 2)
    assert others([slots[0]], 31) == HostShare()
    assert others(slots, 32) == HostShare()
    kept = [{**idle, "RemoteOwner": "cosched@pool"}]  # keep_claim: the next task's
    assert claims.held(kept, ["cosched"], 40) == claims.held(kept, ["cosched"], 99) == frozenset()
    assert claims.held(slots, [], 100) == claims.held(slots, [], 199) == frozenset()  # whose is ours is not known yet


def test_a_static_slot_that_another_user_keeps_claimed_is_claimed() -> None:
    kept = {"Machine": "a", "Name": "a", "State": "Claimed", "Activity": "Idle", "RemoteOwner": "ann@pool"}
    (host,) = pool_hosts([kept], PlaceAttributes(), lambda _: False, JobRequirements(), idle_claims=["a"])
    assert (host.claimed, host.reason) == (True, "claimed by ann@pool")


def test_a_job_may_have_the_largest_slot_of_a_machine() -> None:
    slots = [{"Machine": "a", "Cpus": cores, "Memory": 4000, "GPUs": cores - 1} for cores in (1, 2)]
    assert _hosts(slots) == [Host("a", memory=4000, cores=2, gpus=1)]


def test_hosts_are_sorted_and_have_their_class() -> None:
    slots = [{"Machine": "b", "State": "Unclaimed", "Kind": "fast"}, {"Machine": "a", "State": "Claimed"}]
    assert _hosts(slots, "Kind") == [Host("a"), Host("b", "fast")]
    assert "Kind" in slot_projection(PlaceAttributes("Kind"))


def test_a_host_is_in_the_cluster_that_its_usable_slots_name() -> None:
    slots = [{"Machine": "b", "State": "Unclaimed", "Site": "delft"}, {"Machine": "a", "State": "Claimed"}]
    assert _hosts(slots, cluster="Site") == [Host("a"), Host("b", cluster="delft")]
    assert _hosts(slots) == [Host("a"), Host("b")]
    assert {"Kind", "Site"} <= set(slot_projection(PlaceAttributes("Kind", "Site")))
    assert "" not in slot_projection(PlaceAttributes())


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"Offline": True}, "offline"),
        ({"State": "Drained"}, "draining"),
        ({"Draining": True, "DrainReason": "new\ndisk"}, "new disk"),
        ({"Start": False}, "START"),
        ({"State": "Delete"}, "Delete"),
    ],
)
def test_a_host_out_of_use_is_down_for_a_reason(values: dict[str, object], word: str) -> None:
    (host,) = _hosts([{"Machine": "a", **values}])
    assert not host.up
    assert word in host.reason


def test_a_machine_is_up_when_one_of_its_slots_is() -> None:
    slots = [{"Machine": "a", "State": "Drained"}, {"Machine": "a", "State": "Unclaimed"}]
    assert _hosts(slots) == [Host("a")]


def test_ads_without_a_usable_name_are_no_hosts() -> None:
    assert _hosts([{}, {"Machine": "a,b"}]) == []


def _slot(job: str, scheduler: str = "", submitted: int = 1769860803) -> dict[str, str]:
    return {"JobId": job, **({"GlobalJobId": f"{scheduler}#{job}#{submitted}"} if scheduler else {})}


def test_the_same_number_with_another_scheduler_is_not_ours() -> None:
    """Regression: in a pool with two schedulers another's cluster 7 passed for ours, and its host for free."""
    own = OwnClusters()
    own.add(["7.0"])
    assert own.owns(_slot("7.3", "a@h"))  # nothing better is known
    own.named("a@h")
    assert own.owns(_slot("7.3", "a@h"))
    assert own.owns(_slot("7.3"))
    assert not own.owns(_slot("7.3", "b@h"))
    assert not own.owns(_slot("8.0", "a@h"))


def test_a_new_process_asks_whose_the_running_jobs_are() -> None:
    """Regression: a restarted daemon took its own jobs for foreign, called them back, and ran their tasks once more."""
    own, asked = OwnClusters(), []

    def queued() -> list[str]:
        asked.append(1)
        return ["7"]

    own.named("a@h")
    slots = [_slot("7.0", "a@h"), _slot("8.0", "a@h"), _slot("9.0", "b@h"), {"Machine": "c"}]
    own.resolve(slots, queued)
    assert [own.owns(slot) for slot in slots] == [True, False, False, False]
    own.resolve(slots, queued)
    assert asked == [1]  # a foreign job is asked for once
    own.resolve([*slots, _slot("10.0", "a@h")], queued)
    assert asked == [1, 1]


def test_a_number_that_comes_again_after_the_queue_was_lost_is_asked_for() -> None:
    """Another user's cluster 7 passed for ours, and its host for free."""
    own = OwnClusters()
    own.named("a@h")
    own.add(["7.0"])
    ours, others = _slot("7.0", "a@h"), _slot("7.0", "a@h", 1769870000)
    own.resolve([ours], pytest.fail)
    own.add(["7.0"])  # its end is reported
    own.resolve([others], lambda: ["8"])
    assert (own.owns(ours), own.owns(others)) == (True, False)
    own.resolve([others], pytest.fail)
    again = _slot("7.0", "a@h", 1769880000)
    own.resolve([again], lambda: ["7"])
    assert own.owns(again)


def test_jobs_are_nobodys_while_the_scheduler_does_not_say_whose() -> None:
    own = OwnClusters()

    def away() -> list[str]:
        raise ConnectorError("it is away", transient=True)

    with pytest.raises(ConnectorError):
        own.resolve([_slot("7.0", "a@h")], away)
    own.resolve([_slot("7.0", "a@h")], lambda: ["7"])
    assert own.owns(_slot("7.0", "a@h"))
