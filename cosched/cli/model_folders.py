"""Where commands about models look for them: where the daemon on this machine would."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.language import default_library
from cosched.language.library import locate
from cosched.service.places import PREFIX, configuration_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["catalogued", "model_folders"]


def model_folders(config: Path | None = None) -> tuple[Path, ...]:
    """Return the folders that are searched for models and hardware by name, in this order.

    Args:
        config: the daemon's configuration file; None: the one in force, and cosched's own library where there is none.

    Raises:
        UserError: what is wrong with the configuration.
    """
    set_here = any(name.startswith(f"{PREFIX}MODELS__") for name in os.environ)
    if config is None and not set_here and configuration_file(os.environ) is None:
        return default_library()  # without loading what reads configurations
    from cosched.service.configuration import load

    return tuple(load(config).models.folders)


def catalogued(config: Path | None) -> tuple[list[Path], Path]:
    """Return the models that the catalogue of a daemon names, and the hardware of its domain.

    Args:
        config: as for `model_folders`.

    Raises:
        UserError: what is wrong with the configuration or the catalogue, or a model or hardware that cannot be found.
    """
    from cosched.prediction.catalogue import Catalogue
    from cosched.service.configuration import load

    configuration = load(config)
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
