"""`cosched model fit --derived`: the costs of a derived model from runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.cli.model.arguments import model_folders
from cosched.cli.model.runs_argument import read_text
from cosched.cli.output import print_answer, write_text
from cosched.errors import UserError
from cosched.evaluation import load, load_hardware
from cosched.language.library import locate
from cosched.modelling.block_costs import BlockCosts, fit_costs, in_units
from cosched.modelling.derivation import TOOL as DERIVE
from cosched.modelling.fitting import only_class, samples_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cosched.evaluation import Hardware
    from cosched.modelling.points import TimedRun

__all__ = ["fit_derived"]

_ANY = "x86_64_gigabit"  # for a model without messages, whose costs the hardware does not decide


def fit_derived(derived: Path, file: Path, runs: Sequence[TimedRun], machine: Hardware | None, json: bool) -> None:
    """Learn the costs of a derived model and write it with them.

    Raises:
        UserError: the model is another one, or the runs do not fit it.
    """
    skeleton = read_text(derived)
    if DERIVE not in skeleton:
        raise UserError(f"--derived {derived} was not written by `{DERIVE}`: make one of the program's source")
    hardware = machine or load_hardware(locate(_ANY, ".hmcl", "hardware", model_folders()))
    hosts = only_class(runs)
    found = fit_costs(load(derived, model_folders()), runs, hardware)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    write_text(file, found.psl(skeleton, hosts, day, samples_digest(runs)))
    load(file, model_folders())  # what was written can be read
    print_answer(json, _document(found, file), lambda: _lines(found, file))


def _document(found: BlockCosts, file: Path) -> dict[str, Any]:
    return {
        "file": str(file),
        "runs": found.runs,
        "law": found.law,
        "costs": dict(found.costs),
        "tried": dict(found.errors),
        "mean_error": float(np.mean(found.off)) if len(found.off) else None,
        "repeats": found.noise,
        "error": found.error,
    }


def _lines(found: BlockCosts, file: Path) -> list[str]:
    costs = ", ".join(f"{name} {in_units(cost, 3)}" for name, cost in found.costs.items())
    if len(found.off):
        told = f"leave-one-size-out: mean {np.mean(found.off):.1%}, worst {np.max(found.off):.1%}"
        tried = ", ".join(f"{name} {error:.1%}" for name, error in found.errors.items())
    else:
        told, tried = "one size was run: the counts alone say how the time grows", found.law
    repeats = "nothing was run twice" if found.noise is None else f"repeating a run: {found.noise:.1%}"
    return [
        f"{found.runs} runs, {found.law}: {costs}",
        f"{told}; {repeats}",
        f"tried: {tried}",
        f"wrote {file} (error {found.error:.2g} inside what was seen)",
    ]
