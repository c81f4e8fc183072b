"""Predictors evaluate models in processes of their own: `python -m cosched.daemon.processes.predictors FOLDER…`.

An evaluation may take seconds of the interpreter; here it delays only models behind it, and can be ended.
"""

from __future__ import annotations

import base64
import os
import pickle
import resource
import sys
import threading
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.connector.interface import ConnectorError
from cosched.connector.worker_process import WorkerEndedError, WorkerProcess, serve_requests
from cosched.errors import SystemFault, UserError
from cosched.prediction.history import FEWEST_RUNS, MOST_RUNS, Run
from cosched.prediction.learning import LearntRuns
from cosched.prediction.loads.host_load import Coupling
from cosched.prediction.model_predictor import EvaluationFault, ModelPredictor
from cosched.prediction.others.exponents import Exponent
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.tunable.modelled import library_chains
from cosched.scheduling.tunable.tasks import Chain, Stage

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["ModelProcesses", "main"]

_LIMIT = 30.0  # seconds that an evaluation may take
_MEMORY = 4 << 30  # bytes of address space
_QUEUE = 4  # evaluations of users' own models, the one under way included; further requests are refused
_LOOK = 1.0  # seconds between two looks for changed files
_NICE = 5


class ModelProcesses(ModelPredictor):
    """A predictor with a process each for the library's, users' and neighbours' models."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Set up; a process is started when it is first needed."""
        super().__init__(folders, look=_LOOK)
        command = ["cosched.daemon.processes.predictors", *map(str, folders)]
        self._named, self._texts, self._files = self._processes = tuple(
            WorkerProcess(command, os.environ, _LIMIT, manager="the model", daemon="it") for _ in range(3)
        )
        self._closed = False
        self._queue = threading.BoundedSemaphore(_QUEUE)

    def close(self) -> None:
        """End the processes and their evaluations; nothing is evaluated any more."""
        self._closed = True
        for process in self._processes:
            process.abandon()

    @property
    def asked(self) -> int:
        """How many evaluations were asked for."""
        return sum(sum(process.calls.values()) for process in self._processes)

    @property
    def ended(self) -> int:
        """How often a process has died, or was ended because an evaluation took too long."""
        return sum(process.ended for process in self._processes)

    def text_profile(
        self, text: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return the prediction of a model given as text; see `Predictor`.

        Raises:
            SystemFault: too many others are to be evaluated first.
        """
        if not self._queue.acquire(blocking=False):
            raise SystemFault(f"{_QUEUE} models of users are being evaluated: try again in a moment")
        try:
            return self._profile_from(self._texts, "text", text, (values, hardware, hosts, ranks))
        finally:
            self._queue.release()

    def file_profile(
        self, path: Path, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return what a model predicts that includes files beside it and no others; see `Predictor`."""
        return self._profile_from(self._files, "file", str(path), (values, hardware, hosts, ranks))

    def chains(
        self, model: str, values: Mapping[str, float], hardware: str, hosts: int, stages: Collection[str] = ()
    ) -> tuple[Chain, ...]:
        """Return the ways through a tunable application of the library; see `library_chains`."""
        found = self._answer_of(self._named, "chains", model, (values, hardware, hosts), stages=list(stages))
        return tuple([Chain(tuple([_stage(*each) for each in stages])) for stages in found["chains"]])

    def learnt(self, runs: Sequence[Run], number: Exponent) -> LearntRuns:
        """Return what runs of one key teach, the newest last; see `LearntRuns.of`.

        It is learnt in the process of the library's models, so that it delays no event; here where that fails.
        """
        if len(runs) < FEWEST_RUNS:
            return LearntRuns.of(runs, number)
        try:
            found = self._named.call("learn", runs=[astuple(run) for run in runs[-MOST_RUNS:]], number=number)
        except ConnectorError:
            return LearntRuns.of(runs, number)
        taught: LearntRuns = pickle.loads(base64.b64decode(found))  # noqa: S301  of a process of our own
        return taught

    def _evaluate(self, name: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int) -> Profile:
        return self._profile_from(self._named, "named", name, (values, hardware, hosts, ranks))

    def _profile_from(
        self, process: WorkerProcess, verb: str, model: str, where: tuple[Mapping[str, float], str, int, int]
    ) -> Profile:
        values, hardware, hosts, ranks = where
        found = self._answer_of(process, verb, model, (values, hardware, hosts), ranks=ranks)
        low, high = (None if times is None else tuple(times) for times in (found["low"], found["high"]))
        profile = Profile(tuple(found["seconds"]), PredictionSource.MODEL, found["hardware"], low, high)
        return replace(profile, coupling=Coupling(found["coupling"]))

    def _answer_of(
        self, process: WorkerProcess, verb: str, model: str, where: tuple[Mapping[str, float], str, int], **more: Any
    ) -> Any:
        """Return the document of a process's answer."""
        values, hardware, hosts = where
        asked = partial(process.call, verb, model=model, values=dict(values), hardware=hardware, hosts=hosts, **more)
        try:
            try:
                found = asked()
            except WorkerEndedError:  # the kernel or a user has killed it: that is no fault of the model
                found = asked()
        except ConnectorError as error:
            if self._closed:
                raise SystemFault("cosched is ending: try again when it is back") from error
            if isinstance(error, WorkerEndedError):
                raise SystemFault(
                    "the process that evaluates models was killed twice: try again; if it is so each time, let the "
                    "model take less memory"
                ) from error
            raise UserError(
                f"the model cannot be evaluated within {_LIMIT:.0f} s and {_MEMORY >> 30} GB ({error}): "
                "let it take fewer steps"
            ) from error
        if "fault" in found:
            raise EvaluationFault(found["fault"])
        return found


class _Models:
    """The verbs; JSON as Python writes it has infinities."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._predictor = ModelPredictor(folders)

    def named(self, model: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int) -> dict[str, Any]:
        return _document(self._predictor.model_profile, model, values, hardware, hosts, ranks)

    def text(self, model: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int) -> dict[str, Any]:
        return _document(self._predictor.text_profile, model, values, hardware, hosts, ranks)

    def file(self, model: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int) -> dict[str, Any]:
        return _document(self._predictor.file_profile, Path(model), values, hardware, hosts, ranks)

    def chains(
        self, model: str, values: Mapping[str, float], hardware: str, hosts: int, stages: Sequence[str]
    ) -> dict[str, Any]:
        try:
            found = library_chains(model, self._folders, hardware, values, hosts, stages)
        except UserError as error:
            return {"fault": str(error)}
        return {"chains": [[astuple(stage) for stage in chain.stages] for chain in found]}

    def learn(self, runs: Sequence[Sequence[Any]], number: Sequence[float]) -> str:
        given = [Run(tuple(numbers), *others) for numbers, *others in runs]
        return base64.b64encode(pickle.dumps(LearntRuns.of(given, Exponent(*number)))).decode()


def _stage(*values: Any) -> Stage:
    """Return a stage of the values of its fields as JSON has them."""
    stage = Stage(*values)
    return replace(stage, known=tuple([(name, value) for name, value in stage.known]))


def _document(evaluate: Any, *asked: object) -> dict[str, Any]:
    try:
        profile: Profile = evaluate(*asked)
    except UserError as error:
        return {"fault": str(error)}
    return {name: getattr(profile, name) for name in ("seconds", "low", "high", "hardware", "coupling")}


def main() -> None:
    """Evaluate until standard input ends."""
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    serve_requests(_Models([Path(folder) for folder in sys.argv[1:]]))


if __name__ == "__main__":
    main()
