from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import load, load_hardware, profile
from cosched.language import ModelError, check_files
from cosched.language.overlays import overlay_blocks

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """application heat {
    option { hrduse = "node"; }
    proc exec init { step cpu { confdev w(); } }
    proc cflow w { compute <is block, update, 1e6>; }
}"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A class without blocks, with a model that needs one."""
    (tmp_path / "heat.psl").write_text(MODEL)
    path = tmp_path / "node.hmcl"
    path.write_text("config node { clc { LFOR = 1; } }")
    return path


def overlay(node: Path, name: str, text: str) -> Path:
    folder = node.parent / "node.d"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.hmcl"
    path.write_text(text)
    return path


def test_blocks_beside_a_class_are_its_own(node: Path) -> None:
    model = node.with_name("heat.psl")
    assert "block heat.update has no cost on node" in check_files([model])[0].message
    with pytest.raises(ModelError, match=r"hardware node gives no cost of block heat.update"):
        profile(load(model), load_hardware(node), [1])
    path = overlay(node, "heat", "config heat { blocks { heat.update = 0.5 ns; } }")
    assert check_files([model, path]) == []
    assert profile(load(model), load_hardware(node), [1]).tolist() == pytest.approx([0.5e-3])
    node.write_text("config node { blocks { heat.update = 9 ns, heat.norm = 1 ns; } }")
    assert load_hardware(node).blocks == pytest.approx({"heat.update": 0.5e-3, "heat.norm": 1e-3})


def test_blocks_beside_a_model_or_in_a_library_count_before(node: Path, tmp_path: Path) -> None:
    overlay(node, "heat", "config heat { blocks { heat.update = 1 ns; } }")
    own = tmp_path / "own" / "node.d"
    own.mkdir(parents=True)
    (own / "heat.hmcl").write_text("config heat { blocks { heat.update = 2 ns; } }")
    assert overlay_blocks(node, []) == pytest.approx({"heat.update": 1e-3})
    assert overlay_blocks(node, [own.parent]) == pytest.approx({"heat.update": 2e-3})
    assert load_hardware(node, [], own.parent).blocks == pytest.approx({"heat.update": 2e-3})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config heat { clc { LFOR = 2; } }", "1:15: clc in an overlay: it holds the group blocks alone"),
        ("config heat { blocks { heat.update = -1; } }", "1:38: heat.update is -1.0: a cost is finite"),
        ("config heat { } config more { }", "1:1: the file holds 2 configs: one is needed"),
        ("config heat { blocks { heat.norm = 1; } }", "heat.norm is given by another file"),
    ],
)
def test_what_no_overlay_may_be_is_said_with_its_place(node: Path, text: str, message: str) -> None:
    overlay(node, "a", "config a { blocks { heat.norm = 1; } }")
    overlay(node, "heat", text)
    with pytest.raises(ModelError) as error:
        load_hardware(node)
    assert message in str(error.value)
    assert "node.d/heat.hmcl" in str(error.value)
    assert message in str(check_files([node.with_name("heat.psl")])[0])
