"""Overlays of a hardware file: what blocks cost on its class of hosts.

They are CLASS.d/APPLICATION.hmcl beside CLASS.hmcl, each with a group `blocks`: start at `overlay_blocks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.arithmetic import setting_values
from cosched.language.checks.hardware import check_config
from cosched.language.diagnostics import ModelError, read
from cosched.language.library import overlay_files
from cosched.language.parser.parse import parse_hmcl
from cosched.language.vocabulary import BLOCKS_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cosched.language.syntax import Config

__all__ = ["overlay_blocks"]

_MAY_HOLD = (BLOCKS_GROUP, "hardware")


def overlay_blocks(hardware: Path, library: Sequence[Path], beside: Path | None = None) -> dict[str, float]:
    """Return the microseconds of APPLICATION.BLOCK in the overlays of a hardware file.

    Args:
        hardware: the file of the class.
        library: folders whose overlays count, before those beside the file; `beside` counts before both.
        beside: a folder that is searched first, such as that of a model.

    Raises:
        ModelError: an overlay has faults, holds anything but blocks, or gives what another one has given.
    """
    found: dict[str, float] = {}
    for path in overlay_files(hardware, library, beside):
        config = _overlay(path)
        for group in config.groups:
            for setting in group.settings if group.name == BLOCKS_GROUP else ():
                if setting.name in found:
                    message = f"{setting.name} is given by another file of {path.parent}, too: keep it in one"
                    raise ModelError([config.source.fault(setting.at, message)])
        found |= {
            name: cost for name, cost in setting_values(config).get(BLOCKS_GROUP, {}).items() if isinstance(cost, float)
        }
    return found


def _overlay(path: Path) -> Config:
    source = read(path)
    configs = parse_hmcl(source)
    if len(configs) != 1:
        raise ModelError([source.fault((1, 1), f"the file holds {len(configs)} configs: one is needed")])
    faults = check_config(configs[0])
    faults += [
        source.fault(group.at, f"{group.name} in an overlay: it holds the group {BLOCKS_GROUP} alone")
        for group in configs[0].groups
        if group.name not in _MAY_HOLD
    ]
    if faults:
        raise ModelError(faults)
    return configs[0]
