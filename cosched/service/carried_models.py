"""PSL models that travel with tasks: gathered from our files for others, evaluated here for tasks of others."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections import OrderedDict
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import structlog

from cosched import evaluation
from cosched.agent.messages import Model, ModelFile
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.language.linker import Linked
    from cosched.prediction.predictor import Predictor
    from cosched.prediction.profile import Profile

__all__ = ["CarriedModels", "digest"]

_log = structlog.get_logger("cosched.agent")
_MOST_REMEMBERED = 4096
_MOST_GATHERED = 256
_Stamp = tuple[Path, int, int]


class CarriedModels:
    """Keeps each model that came once, by its content. May be used from several threads."""

    def __init__(self, folder: Path, library: Sequence[Path], predictor: Predictor) -> None:
        """Set up.

        Args:
            folder: for models that come from others.
            library: folders of our own models.
            predictor: evaluates models, and knows our hardware.
        """
        self._folder = folder
        self._library = tuple(library)
        self._predictor = predictor
        self._guard = threading.Lock()
        self._profiles: OrderedDict[tuple[object, ...], Profile] = OrderedDict()
        self._gathered: dict[str, tuple[tuple[_Stamp, ...], Model]] = {}

    def gathered(self, name: str) -> Model:
        """Return one of our own models with every file that it includes.

        Raises:
            UserError: there is no such model, it has faults, or two of its files have one name.
        """
        known = self._gathered.get(name)
        if known is not None and _unchanged(known[0]):
            return known[1]
        application = evaluation.load(name, self._library)
        files: dict[str, Path] = {}
        _collect(application.root, files)
        stamps = tuple(map(_stamp, files.values()))
        texts = tuple(ModelFile(name, path.read_text("utf-8-sig")) for name, path in sorted(files.items()))
        model = Model(Path(application.file).stem, texts)
        if len(self._gathered) >= _MOST_GATHERED:
            self._gathered.clear()
        self._gathered[name] = stamps, model
        return model

    def gathered_text(self, text: str) -> Model:
        """Return a model that a user gave as text, with every file of ours that it includes; errors as `gathered`."""
        return self.gathered(str(self._kept(Model("model", (ModelFile("model.psl", text),)))))

    def profile(self, model: Model, values: Mapping[str, float], hardware: str, hosts: int) -> Profile:
        """Return what a model that came with a task predicts on 1…hosts hosts.

        Raises:
            UserError: the model or the hardware is at fault, in one line.
            SystemFault: the model cannot be written down.
        """
        key = (digest(model), hardware, hosts, tuple(sorted(values.items())))
        with self._guard:
            known = self._profiles.get(key)
        if known is None:  # evaluated without the guard: who asks for what is known need not wait for others' models
            known = self._predictor.file_profile(self._kept(model), values, hardware, hosts)
            with self._guard:
                self._profiles[key] = known
                if len(self._profiles) > _MOST_REMEMBERED:
                    self._profiles.popitem(last=False)
        return known

    def prune(self, age: float) -> int:
        """Delete the models that nobody has asked for since `age` seconds; return how many. They may come again.

        Raises:
            SystemFault: one cannot be deleted.
        """
        before, gone = time.time() - age, 0
        try:
            for folder in [*self._folder.iterdir()] if self._folder.is_dir() else ():
                with self._guard:  # one that is asked for just now is younger when its turn comes
                    if folder.stat().st_mtime < before:
                        shutil.rmtree(folder)
                        gone += 1
        except OSError as error:
            raise SystemFault(f"{error.filename} cannot be deleted ({error.strerror})") from error
        if gone:
            _log.info("forgot", models=gone)
        return gone

    def _kept(self, model: Model) -> Path:
        """Write a model's files down, each in the folder of its content; return the application's file."""
        folder = self._folder / digest(model)
        with self._guard:
            return self._written(model, folder)

    @staticmethod
    def _written(model: Model, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for file in model.files:
                if Path(file.name).name != file.name:
                    raise UserError(f"the model's file {file.name!r} is a path: a plain name is wanted")
                if not (folder / file.name).exists():
                    _write_whole(folder / file.name, file.text)
            os.utime(folder)  # so is known when it was asked for last
        except OSError as error:
            raise SystemFault(f"{folder} cannot be written ({error.strerror})") from error
        if model.name + ".psl" not in {file.name for file in model.files}:
            raise UserError(f"the model {model.name} has no file {model.name}.psl")
        return folder / f"{model.name}.psl"


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all: what is there is never written again."""
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size


def _unchanged(stamps: tuple[_Stamp, ...]) -> bool:
    try:
        return all(_stamp(one[0]) == one for one in stamps)
    except OSError:
        return False


def digest(model: Model) -> str:
    """Return what tells models of different content apart: of texts that users gave, all have one name."""
    content = hashlib.sha256(model.name.encode())
    for file in model.files:
        for text in (file.name, file.text):
            content.update(str(len(text)).encode() + b":" + text.encode())
    return content.hexdigest()


def _collect(linked: Linked, files: dict[str, Path]) -> None:
    path = Path(linked.object.source.file)
    if files.setdefault(path.name, path) != path:
        raise UserError(f"the model uses {path} and {files[path.name]}: files of one name cannot travel together")
    for included in linked.includes.values():
        _collect(included, files)
