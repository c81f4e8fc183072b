"""Arguments of `cosched model`: host counts (1-16), folders of models."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.language import default_library
from cosched.language.library import locate
from cosched.paths import ENVIRONMENT_PREFIX, configuration_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["catalogued", "model_folders", "parse_host_counts"]


_MOST_COUNTS = 4096
_COUNT_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def parse_host_counts(text: str) -> list[int]:
    """Return numbers of hosts, ascending, each once.

    Raises:
        UserError: not such a list, 0, a range that runs backwards, or more than 4096 numbers.
    """
    counts: set[int] = set()
    for part in text.split(","):
        match = _COUNT_RANGE.fullmatch(part.strip())
        if match is None:
            raise UserError(f"hosts {text!r}: write a number, a range or a list, such as 8, 1-16 or 1,2,4")
        first, last = int(match[1]), int(match[2] or match[1])
        if first < 1 or last < first:
            raise UserError(f"hosts {text!r}: {part.strip()} is no range of numbers from 1 up")
        if len(counts) + last - first + 1 > _MOST_COUNTS:
            raise UserError(f"hosts {text!r}: more than {_MOST_COUNTS} numbers")
        counts.update(range(first, last + 1))
    return sorted(counts)


def model_folders(config: Path | None = None) -> tuple[Path, ...]:
    """Return the folders that are searched for models and hardware by name, in this order.

    Args:
        config: the daemon's configuration file; None: the one in force, and cosched's own library where there is none.

    Raises:
        UserError: what is wrong with the configuration.
    """
    set_here = any(name.startswith(f"{ENVIRONMENT_PREFIX}MODELS__") for name in os.environ)
    if config is None and not set_here and configuration_file(os.environ) is None:
        return default_library()  # without loading what reads configurations
    from cosched.daemon.config.loading import load_configuration

    return tuple(load_configuration(config).models.folders)


def catalogued(config: Path | None) -> tuple[list[Path], Path]:
    """Return the models of a daemon's catalogue and the hardware of its domain.

    Args:
        config: see `model_folders`.

    Raises:
        UserError: what is wrong with the configuration or the catalogue, or a model or hardware that cannot be found.
    """
    from cosched.daemon.config.loading import load_configuration
    from cosched.prediction.catalogue import Catalogue

    configuration = load_configuration(config)
    folders = configuration.models.folders
    named = {entry.name: entry.model for entry in Catalogue(configuration.applications.folders).applications()}
    models, faults = [], []
    for name, model in named.items():
        try:
            models += [locate(model, ".psl", "application", folders)] if model else []
        except UserError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise UserError("; ".join(faults))
    if not models:
        raise UserError("no application of the catalogue has a model: name the files to check")
    return list(dict.fromkeys(models)), locate(configuration.domain.hardware, ".hmcl", "hardware", folders)


def stage_faults(config: Path | None) -> list[str]:
    """Return what tunable applications of a daemon's catalogue say of stages that their models do not have.

    Args:
        config: see `model_folders`.
    """
    from cosched.daemon.config.loading import load_configuration
    from cosched.evaluation.application import load
    from cosched.prediction.catalogue import Catalogue
    from cosched.scheduling.tunable.modelled import tunable_faults

    configuration = load_configuration(config)
    faults = []
    for entry in Catalogue(configuration.applications.folders).applications():
        if entry.tunable:
            found = tunable_faults(load(entry.model, configuration.models.folders), entry.stages)
            faults += [f"{entry.name}: {fault}" for fault in found]
    return faults
