"""Connectors in trouble can do what they can out of it: else faults are tried on another daemon than users have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import create_autospec

import pytest

from cosched.connector import ConnectorError, interface
from cosched_condor import CondorConnector
from tests.testbed.trouble import Trouble, TroubledConnector, TroubleFile

if TYPE_CHECKING:
    from pathlib import Path


def _in_trouble(kind: type, folder: Path, manner: str = "") -> tuple[Any, Any]:
    file = TroubleFile(folder / "trouble.json")
    file.write(Trouble(manner=manner, until=float("inf")))
    honest = create_autospec(kind, instance=True)
    honest.name = "x"
    return honest, TroubledConnector(honest, file, folder / "wrong")


def test_no_answer_of_connectors_is_forgotten() -> None:
    """Else faults are tried on another daemon than users have."""
    offered = {name for name in vars(interface.Connector) if not name.startswith("_")}
    # No daemon in trouble adopts jobs or has elastic tasks.
    assert offered - set(vars(TroubledConnector)) == {"adoption", "mail"}


def test_what_was_called_back_is_asked_of_the_manager_which_may_be_away(tmp_path: Path) -> None:
    honest, spoilt = _in_trouble(CondorConnector, tmp_path)
    honest.call_back.return_value = False
    assert spoilt.call_back("a") is False
    honest, spoilt = _in_trouble(CondorConnector, tmp_path, "away")
    with pytest.raises(ConnectorError, match="away"):
        spoilt.call_back("a")
    honest.call_back.assert_not_called()
