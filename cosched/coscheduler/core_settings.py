"""Settings of the core that an administrator chooses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.prediction.loads.host_load import Interruption, LoadTrigger
from cosched.scheduling.objective.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CoreSettings"]


@dataclass(frozen=True, slots=True)
class CoreSettings:
    """Settings of a domain's co-scheduler. Durations are seconds.

    Attributes:
        instance: UUID of this domain's database; the attempts' UUIDs derive from it.
        policy: "genetic", a baseline ("fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated"), or a policy that plans anew
            whenever a host is idle (see `policies.ImmediatePolicy`); for comparison "titan-classic".
        weights: weights of the objective's terms.
        staging: longest time that a new task waits for the search to have looked at it before it may be dispatched; it
            counts from the search's first answer where that comes later than the task. 0: no task waits.
        search_start: longest time that the first answer of a search that starts is waited for.
        margin: share of the time left to a deadline by which plans aim to be early, 0 to below 1.
        quantile: share of runs that stays below the times that plans reckon with, above 0 and below 1; 0.5 for the
            expected ones.
        attempts: how many times a task is tried whose hosts are lost under it.
        start_grace: seconds after which the manager is asked why an attempt has not begun on free hosts; longer where
            jobs are known to begin later.
        starts: how many times a task is tried that the manager does not start.
        retry: pause after the manager could not be reached, doubled up to `retry_longest`.
        seed: seed of the arbitrary host counts of "fcfs-arbitrary".
        share_hosts: whether tasks share hosts; the policy must be one that packs.
        elastic: how hosts are lent to elastic tasks.
        licences: how many the domain has of each, by name.
        interruption: what the owners of hosts do to tasks there when they come back.
        trigger: what a load or a run that is not as predicted leads to.
        contention: how much longer a program is said to run on a host of a class that others fill, 0.08 for 8 %; counts
            where runs have not taught it. `default` stands for the classes that are not named.
    """

    instance: str
    policy: str = "genetic"
    weights: Weights = field(default_factory=Weights)
    staging: float = 1.0
    search_start: float = 10.0
    margin: float = 0.05
    quantile: float = 0.5
    attempts: int = 5
    start_grace: float = 60.0
    starts: int = 5
    retry: float = 1.0
    retry_longest: float = 60.0
    seed: int = 0
    share_hosts: bool = False
    elastic: ElasticSettings = field(default_factory=ElasticSettings)
    licences: Mapping[str, int] = field(default_factory=dict)
    interruption: Interruption = Interruption.SUSPEND
    trigger: LoadTrigger = LoadTrigger.ACT
    contention: Mapping[str, float] = field(default_factory=dict)
