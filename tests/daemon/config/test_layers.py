from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.daemon.config.layers import environment_layer, file_layers, flatten
from cosched.daemon.config.sections import Configuration
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def test_relative_paths_start_where_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "cosched.toml"
    file.write_text('[applications]\nfolders = ["applications.d", "/opt/catalogue"]\n[domain]\nstate = "state"\n')
    (layer,) = file_layers(file)
    assert layer.get("applications", "folders") == [str(tmp_path / "applications.d"), "/opt/catalogue"]
    assert layer.get("domain", "state") == str(tmp_path / "state")


@pytest.mark.parametrize(
    ("raw", "value"),
    [("7", 7), ("0.5", 0.5), ("true", True), ("2m", "2m"), ('["a"]', ["a"]), ("", ""), ("7\nx = 1", "7\nx = 1")],
)
def test_values_of_the_environment_are_toml_where_they_can_be(raw: str, value: object) -> None:
    layer = environment_layer({"COSCHED_PLANNING__SEED": raw}, Configuration)
    assert layer.values == {"planning": {"seed": value}}


def test_a_table_and_a_value_of_one_name_are_refused() -> None:
    environment = {"COSCHED_CONNECTOR__LOCAL": "x", "COSCHED_CONNECTOR__LOCAL__HOSTS": "3"}
    with pytest.raises(UserError, match="local is set as a value by another variable: unset one"):
        environment_layer(environment, Configuration)


def test_variables_of_jobs_are_not_ours() -> None:
    environment = {"COSCHED_TASK": "17", "COSCHED_SERVER": "unix:/x", "HOME": "/home/ann", "PLANNING__SEED": "3"}
    assert environment_layer(environment, Configuration).values == {}


KEYS = st.text("abc", min_size=1, max_size=3)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers() | st.dictionaries(KEYS, st.integers(), min_size=1))))
def test_flattening_names_every_leaf_once(values: dict[str, dict[str, object]]) -> None:
    leaves = flatten(values)
    for name, leaf in leaves.items():
        found: object = values
        for part in name.split("."):
            assert isinstance(found, dict)
            found = found[part]
        assert found == leaf
