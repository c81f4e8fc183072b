from __future__ import annotations

from lark import Token, Tree

from cosched.language.diagnostics import Source
from cosched.language.parser.parser_tables import parser
from cosched.language.parser.tree_builder import build_tree
from cosched.language.syntax import Binary, Config, Name, Number, Object, Position, Unary


def built(language: str, text: str, lost: frozenset[str] = frozenset()) -> tuple[object, ...]:
    return build_tree(parser(language).parse(text), Source("x", text), lost)


def value(text: str) -> object:
    (config,) = built("hmcl", f"config c {{ hardware {{ x = {text}; }} }}")
    assert isinstance(config, Config)
    return config.groups[0].settings[0].value


def test_sections_of_a_kind_are_put_together_in_order() -> None:
    (item,) = built(
        "psl",
        """subtask a {
        include b; var numeric: x; link { b: y = 1; c: z = 2; } option { nstage = 1; }
        include c; var vector: v; link { b: u = 3; } option { seval = 2, nstage = 3; }
        proc exec f { } proc cflow w { }
    }""",
    )
    assert isinstance(item, Object)
    assert (item.kind, item.name, item.at) == ("subtask", "a", Position(1, 1))
    assert [include.name for include in item.includes] == ["b", "c"]
    assert item.declared() == {"x": "numeric", "v": "vector"}
    assert [(link.target, link.assigns[0].name) for link in item.links] == [("b", "y"), ("c", "z"), ("b", "u")]
    assert [option.name for option in item.options] == ["nstage", "seval", "nstage"]
    assert [(procedure.kind, procedure.name) for procedure in item.procedures] == [("exec", "f"), ("cflow", "w")]


def test_an_operator_stands_where_it_is_written_and_a_literal_has_its_unit() -> None:
    found = value("-a + 2 ms")
    assert isinstance(found, Binary)
    assert (found.operator, found.at) == ("+", Position(1, 30))
    assert found.left == Unary(Position(1, 27), "-", Name(Position(1, 28), "a"))
    assert found.right == Number(Position(1, 32), 2000.0, "ms")


def test_source_and_lost_words_are_recorded() -> None:
    for language, text in (("psl", "partmp a { }"), ("hmcl", "config a { }")):
        (item,) = built(language, text, frozenset({"word"}))
        assert isinstance(item, Object | Config)
        assert (item.source.text, set(item.lost)) == (text, {"word"})


def test_nesting_does_not_use_the_stack() -> None:
    deep = 20_000  # far deeper than Python recurses
    tree: Tree[Token] = Tree("number", [Token("NUMBER", "1")])
    for _ in range(deep):
        tree = Tree("unary", [Token("MINUS", "-"), tree])
    (found,) = build_tree(Tree("start", [tree]), Source("x", ""))
    depth = 0
    while isinstance(found, Unary):
        depth += 1
        found = found.operand
    assert depth == deep
    assert isinstance(found, Number)
