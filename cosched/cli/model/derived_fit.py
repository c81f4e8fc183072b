"""`cosched model fit --derived`: the costs of a derived model from runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.cli.model.arguments import model_folders
from cosched.cli.model.runs_argument import cache_sizes, read_text
from cosched.cli.output import print_answer, write_text
from cosched.counts import plural
from cosched.errors import UserError
from cosched.evaluation import load, load_hardware
from cosched.language.library import locate
from cosched.modelling.block_caches import cached_blocks
from cosched.modelling.block_costs import BlockCosts, fit_costs, in_units, named_blocks, overlay, with_launcher
from cosched.modelling.derivation import OPERATION_COSTS, START
from cosched.modelling.derivation import TOOL as DERIVE
from cosched.modelling.fitting import only_class, samples_digest
from cosched.modelling.formula_search import unseen_cache
from cosched.modelling.seals import resealed, sealed, unsealed
from cosched.modelling.writing import TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cosched.evaluation import Hardware
    from cosched.modelling.points import TimedRun
    from cosched.modelling.startup import StartUp

__all__ = ["Learnt", "fit_derived"]

_ANY = "x86_64_gigabit"  # for a model without messages, whose costs the hardware does not decide


@dataclass(frozen=True, slots=True)
class Learnt:
    """Runs that teach a derived model.

    Attributes:
        runs: at least one.
        machine: the resource model of their hosts, if there is one.
        start: what launchers took beside; None where the runs do not tell.
    """

    runs: Sequence[TimedRun]
    machine: Hardware | None
    start: StartUp | None


def fit_derived(derived: Path, file: Path, learnt: Learnt, *, blocks: bool, json: bool) -> None:
    """Learn the costs of a derived model and write it with them.

    Args:
        derived: the model.
        file: where it goes.
        learnt: what teaches it.
        blocks: whether the costs go into an overlay of the class of hosts, and the model names blocks.
        json: whether to print JSON.

    Raises:
        UserError: the model is another one, or the runs do not fit it.
    """
    given = read_text(derived)
    skeleton = unsealed(given)
    if DERIVE not in skeleton:
        raise UserError(f"--derived {derived} was not written by `{DERIVE}`: make one of the program's source")
    if OPERATION_COSTS in " ".join(skeleton.split()):
        raise UserError(
            f"--derived {derived} has the costs of operations, which runs do not teach: derive it without --operations"
        )
    runs = learnt.runs
    hardware = learnt.machine or load_hardware(locate(_ANY, ".hmcl", "hardware", model_folders()))
    hosts = only_class(runs)
    if blocks and not hosts:
        raise UserError("--blocks: the runs name no class of hosts, which the costs are for: give --class")
    application = load(derived, model_folders())
    levels = cache_sizes(learnt.machine)
    found = fit_costs(application, runs, hardware, levels, cached_blocks(skeleton))
    text = found.psl(skeleton, hosts, datetime.now(UTC).strftime("%Y-%m-%d"), samples_digest(runs))
    if learnt.start is not None:
        text = with_launcher(text, learnt.start, found.costs, named=blocks)
    written = [file]
    if blocks:
        text = named_blocks(text, found.costs)
        written.append(_write_overlay(file.parent / f"{hosts}.d", application.name, hosts, found))
    write_text(file, resealed(text, given) if file.resolve() == derived.resolve() else sealed(text))
    load(file, model_folders())  # what was written can be read
    remark = unseen_cache(found.points, levels)
    print_answer(
        json,
        {**_document(found, learnt.start, written), "unseen_cache": remark},
        lambda: _lines(found, learnt.start, [remark] if remark else [], written),
    )


def _write_overlay(folder: Path, application: str, hosts: str, found: BlockCosts) -> Path:
    """Write what the blocks cost on a class of hosts, beside the model."""
    path = folder / f"{application}.hmcl"
    if path.exists() and TOOL not in read_text(path):
        raise UserError(f"{path} was not written by `{TOOL}`: move it away first")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made ({error.strerror}): choose another --out") from error
    write_text(path, overlay(application, hosts, found.costs, f"{application} on {hosts}, by `{TOOL}`. {found.told()}"))
    return path


def _document(found: BlockCosts, start: StartUp | None, written: Sequence[Path]) -> dict[str, Any]:
    return {
        "file": str(written[0]),
        "overlay": str(written[1]) if len(written) > 1 else "",
        "runs": found.runs,
        "law": found.law,
        "costs": dict(found.costs),
        "tried": dict(found.errors),
        "mean_error": float(np.mean(found.off)) if len(found.off) else None,
        "repeats": found.noise,
        "error": found.error,
        "launcher": None if start is None else asdict(start),
    }


def _lines(found: BlockCosts, start: StartUp | None, remarks: Sequence[str], written: Sequence[Path]) -> list[str]:
    costs = ", ".join(f"{name} {in_units(cost, 3)}" for name, cost in found.costs.items())
    if len(found.off):
        told = f"leave-one-size-out: mean {np.mean(found.off):.1%}, worst {np.max(found.off):.1%}"
        tried = ", ".join(f"{name} {error:.1%}" for name, error in found.errors.items())
    else:
        told, tried = "one size was run: the counts alone say how the time grows", found.law
    blocks = [cost for name, cost in found.costs.items() if name != START]
    short = [] if any(blocks) else ["the runs are too short to tell what the blocks cost: run larger sizes"]
    repeats = "nothing was run twice" if found.noise is None else f"repeating a run: {found.noise:.1%}"
    return [
        f"{plural(found.runs, 'run')}, {found.law}: {costs}",
        f"{told}; {repeats}",
        f"tried: {tried}",
        *short,
        *remarks,
        *([] if start is None else [start.told()]),
        f"wrote {' and '.join(map(str, written))} (error {found.error:.2g} inside what was seen)",
    ]
