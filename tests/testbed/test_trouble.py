"""Connectors in trouble can do what they can out of it: else faults are tried on another daemon than users have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from unittest.mock import create_autospec

import pytest

from cosched.connector import ConnectorError, interface
from cosched.connector.interface import (
    AdoptsJobs,
    CallsBack,
    CarriesMail,
    ChecksTasks,
    Connector,
    DiagnosesStarts,
    GivesRemarks,
    KeepsJobs,
    SubmitsMany,
)
from cosched_condor import CondorConnector
from cosched_local import LocalConnector
from cosched_simulated import SimulatedConnector
from cosched_slurm import SlurmConnector
from tests.testbed.trouble import Trouble, TroubledConnector, TroubleFile, troubled

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = (CondorConnector, LocalConnector, SimulatedConnector, SlurmConnector)


def _in_trouble(kind: type, folder: Path, manner: str = "") -> tuple[Any, Any]:
    file = TroubleFile(folder / "trouble.json")
    file.write(Trouble(manner=manner, until=float("inf")))
    honest = create_autospec(kind, instance=True)
    honest.name = "x"
    return honest, troubled(cast("Connector", honest), file, folder / "wrong")


@pytest.mark.parametrize("kind", _KINDS)
def test_a_connector_in_trouble_offers_what_it_offers_out_of_it(kind: type, tmp_path: Path) -> None:
    honest, spoilt = _in_trouble(kind, tmp_path)
    for verbs in (CallsBack, ChecksTasks, DiagnosesStarts, GivesRemarks, KeepsJobs):
        assert isinstance(spoilt, verbs) == isinstance(honest, verbs)


def test_no_verb_that_some_connectors_have_is_forgotten() -> None:
    offered = {each for each in vars(interface).values() if getattr(each, "_is_runtime_protocol", False)}
    # A connector in trouble always submits many, and no daemon in trouble adopts jobs or has elastic tasks.
    told = {CallsBack, ChecksTasks, DiagnosesStarts, GivesRemarks, KeepsJobs}
    assert offered == told | {SubmitsMany, AdoptsJobs, CarriesMail}
    assert issubclass(TroubledConnector, SubmitsMany)


def test_what_was_called_back_is_asked_of_the_manager_which_may_be_away(tmp_path: Path) -> None:
    honest, spoilt = _in_trouble(CondorConnector, tmp_path)
    honest.call_back.return_value = False
    assert spoilt.call_back("a") is False
    honest, spoilt = _in_trouble(CondorConnector, tmp_path, "away")
    with pytest.raises(ConnectorError, match="away"):
        spoilt.call_back("a")
    honest.call_back.assert_not_called()
