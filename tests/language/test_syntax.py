from __future__ import annotations

from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_psl
from cosched.language.syntax import Declaration, Name, Number, walk

(ITEM,) = parse_psl(
    Source(
        "x.psl",
        """application a {
    var numeric: x = 1 in (0, y), z;
    var string: s;
    option { hrduse = "box"; }
    proc exec init { if (x) { x = -2; } }
}""",
    )
)


def test_an_object_knows_its_options_and_variables() -> None:
    option = ITEM.option("hrduse")
    assert option is not None
    assert option.at.line == 4
    assert ITEM.option("decompose") is None
    assert list(ITEM.declared().items()) == [("x", "numeric"), ("z", "numeric"), ("s", "string")]


def test_a_walk_goes_through_branches_and_limits_in_the_order_written() -> None:
    (declared, _) = ITEM.variables[0].declarations
    assert [type(node) for node, _ in walk(declared)] == [Declaration, Number, Number, Name]
    numbers = [node.value for node, _ in walk(*ITEM.procedures) if isinstance(node, Number)]
    assert numbers == [2]
