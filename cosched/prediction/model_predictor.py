"""The model predictor evaluates performance models and caches profiles until a model file changes."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from cosched import evaluation
from cosched.errors import UserError
from cosched.language.diagnostics import ModelError
from cosched.prediction.loads.host_load import Coupling
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cosched.prediction.catalogue import CatalogueEntry, ParameterValue

__all__ = ["EvaluationFault", "ModelPredictor", "predict_profile"]

_MOST_REMEMBERED = 4096
_LONGEST_TEXT = 256 * 1024
_MOST_FAULTS = 8  # of a user's own model that are told at once
_Key = tuple[str, str, int, int, tuple[tuple[str, float], ...]]
_Content = tuple[tuple[str, int, int], ...]


class EvaluationFault(UserError):  # noqa: N818  as the house's other faults are called
    """A model allows no prediction with these values, as often as it is asked, until a file changes."""


class ModelPredictor:
    """Evaluates the models of applications. May be used from several threads."""

    def __init__(self, folders: Sequence[Path], look: float = 0.0) -> None:
        """Set up; models are read when needed, and again after a file has changed.

        Args:
            folders: searched in this order for models and hardware by name.
            look: seconds after which a changed file must have been noticed.
        """
        self._folders = tuple(folders)
        self._evaluating = threading.Lock()
        self._guard = threading.Lock()  # never held for long: what is known is told while a model is evaluated
        self._look = look
        self._looked = float("-inf")
        self._outside: set[str] = set()  # models that were named by their paths
        self._content: _Content = ()
        self._models: dict[str, evaluation.Application] = {}
        self._hardware: dict[str, evaluation.Hardware] = {}
        self._profiles: OrderedDict[_Key, Profile | EvaluationFault] = OrderedDict()

    def profile(
        self,
        application: CatalogueEntry,
        values: Mapping[str, ParameterValue],
        hardware: str,
        hosts: int,
        ranks: int = 0,
    ) -> Profile:
        """Return the predicted run time on 1, 2, … hosts.

        Args:
            application: the application whose model is evaluated.
            values: values of its parameters, checked.
            hardware: name or path of the resource model.
            hosts: how many there are; counts beyond what the application can use are left out.
            ranks: how many each host gets; 0: one for each of its processors.

        Raises:
            UserError: the model or its hardware is at fault, in one line with file, line and column.
        """
        entering = application.model_parameters(values)
        return self.model_profile(application.model, entering, hardware, min(hosts, application.hosts.max), ranks)

    def model_profile(
        self, model: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return the run time that a model predicts on 1, 2, … hosts; see `profile`."""
        key = (model, hardware, hosts, ranks, tuple(sorted(values.items())))
        known = self._known(key)
        if known is None:
            with self._evaluating:
                known = self._known(key)  # another thread may have asked for the same before
                if known is None:
                    content = self._content
                    try:
                        known = self._evaluate(model, values, hardware, hosts, ranks)
                    except EvaluationFault as fault:  # an array asks for it thousands of times
                        known = fault
                    self._remember(key, known, content)
        if isinstance(known, EvaluationFault):
            raise EvaluationFault(str(known)) from known
        return known

    def _known(self, key: _Key) -> Profile | EvaluationFault | None:
        with self._guard:
            if "/" in key[0]:
                self._outside.add(key[0])
            if time.monotonic() >= self._looked + self._look:
                self._looked = time.monotonic()
                self._forget_if_changed()
            if key in self._profiles:
                self._profiles.move_to_end(key)
            return self._profiles.get(key)

    def _remember(self, key: _Key, profile: Profile | EvaluationFault, content: _Content) -> None:
        with self._guard:
            if content is not self._content:
                return  # a file has changed meanwhile
            self._profiles[key] = profile
            if len(self._profiles) > _MOST_REMEMBERED:
                self._profiles.popitem(last=False)

    def text_profile(
        self, text: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return the prediction of a model given as text; it is not kept.

        Raises:
            UserError: the model is at fault; its first faults with line and column, in one line.
        """
        if len(text) > _LONGEST_TEXT:
            raise UserError(f"the model has {len(text)} characters: at most {_LONGEST_TEXT} are allowed")
        path = Path()
        try:
            with tempfile.TemporaryDirectory(prefix="cosched-model-") as folder:
                path = Path(folder, "model.psl")
                path.write_text(text, encoding="utf-8", errors="surrogatepass")
                model = evaluation.load(path, self._folders)
            # Without its file: whoever ends an evaluation that takes too long kills this process.
            machine = evaluation.load_hardware(hardware, self._folders)
            return predict_profile(model, machine, values, hosts, ranks)
        except UserError as error:
            raise UserError(_first_faults(error).replace(str(path), "your model")) from error

    def file_profile(
        self, path: Path, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return the prediction of a model that may include only files beside it.

        The prediction is not kept.

        Raises:
            UserError: the model or its hardware is at fault, in one line.
        """
        model = evaluation.load(path, (path.parent,))
        return predict_profile(model, evaluation.load_hardware(hardware, self._folders), values, hosts, ranks)

    def _evaluate(self, name: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int) -> Profile:
        models, machines = self._models, self._hardware  # others are begun when a file has changed
        model = models.get(name)
        if model is None:
            model = models[name] = evaluation.load(name, self._folders)
        machine = machines.get(hardware)
        if machine is None:
            machine = machines[hardware] = evaluation.load_hardware(hardware, self._folders)
        try:
            return predict_profile(model, machine, values, hosts, ranks)
        except UserError as error:
            raise EvaluationFault(str(error)) from error

    def _forget_if_changed(self) -> None:
        content = tuple(_stamps(self._folders))
        content += tuple(_stamps({Path(name).parent: None for name in sorted(self._outside)}))
        if content != self._content:
            self._models, self._hardware = {}, {}
            self._profiles.clear()
            self._content = content


def _first_faults(error: UserError) -> str:
    """Return the error in one line, with more than the first of a model's faults."""
    if not isinstance(error, ModelError):
        return str(error)
    told, more = error.diagnostics[:_MOST_FAULTS], len(error.diagnostics) - _MOST_FAULTS
    rest = f" (and {more} more: `cosched model check` lists them)" if more > 0 else ""
    return "; ".join(map(str, told)) + rest


def predict_profile(
    model: evaluation.Application, machine: evaluation.Hardware, values: Mapping[str, float], hosts: int, ranks: int = 0
) -> Profile:
    """Return a model's run time on 1…hosts hosts.

    It has a range where the model states its error. Each host gets so many `ranks`; 0: one for each processor.

    Raises:
        UserError: the model is at fault, in one line.
    """
    if ranks:
        machine = machine.with_processors(ranks)
    seconds = evaluation.profile(model, machine, range(1, hosts + 1), values)
    error = evaluation.error(model, machine, range(1, hosts + 1), values)
    low, high = (None, None) if error is None else (tuple(end.tolist()) for end in error.around(seconds))
    try:
        coupling = Coupling(model.coupling)
        return Profile(tuple(seconds.tolist()), PredictionSource.MODEL, machine.name, low, high, coupling=coupling)
    except UserError as fault:
        raise UserError(f"the model {model.name} is wrong: {fault}") from fault


def _stamps(folders: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    """Return name, time of change and size of every model file, to notice changes."""
    for folder in folders:
        for pattern in ("**/*.psl", "**/*.hmcl"):
            for path in sorted(folder.glob(pattern)):
                try:
                    status = path.stat()
                except OSError:
                    continue  # taken away meanwhile
                yield str(path), status.st_mtime_ns, status.st_size
