from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, String

from cosched import resources
from cosched.language import OPCODES, default_library
from cosched.language.checks.hardware import MESSAGE_SETTINGS
from cosched.language.highlighting import highlight_lexer
from cosched.language.vocabulary import (
    COLLECTIVES,
    DEVICES,
    FUNCTION_ARITIES,
    HARDWARE_OBJECT,
    KEYWORDS,
    MEMORY_SETTINGS,
    NOISE_SETTINGS,
    PROCESSORS,
    SETTING_GROUPS,
    TUNABLE_WORDS,
    UNITS,
)

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(path for root in default_library() for path in root.rglob("*.*"))
NAMES = [*OPCODES, *FUNCTION_ARITIES]
WORDS = {
    "psl": [*NAMES, *KEYWORDS, *DEVICES, *COLLECTIVES, PROCESSORS, HARDWARE_OBJECT],
    "hmcl": [
        *NAMES,
        "config",
        *SETTING_GROUPS,
        *MESSAGE_SETTINGS,
        *MEMORY_SETTINGS,
        *NOISE_SETTINGS,
        "curve",
        "points",
    ],
}
LANGUAGES = tuple(WORDS)


def tokens(text: str, file: str) -> list[tuple[Any, str]]:
    return list(highlight_lexer(file).get_tokens(text))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_character_of_the_library_has_a_colour(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = tokens(text, path.name)
    assert "".join(part for _, part in found) == text
    assert [part for kind, part in found if kind in Error] == []


def test_what_a_word_is() -> None:
    text = 'application a (* b *) { option { hrduse = "x y"; } var numeric: cells = 8 KiB; compute <is clc, AFDG>; }'
    found = {part: kind for kind, part in tokens(text, "a.psl")}
    assert found["application"] in Keyword
    assert found["(* b *)"] in Comment
    assert found['"x y"'] in String
    assert found["numeric"] is Keyword.Type
    assert found["KiB"] is Keyword.Pseudo
    assert found["AFDG"] is Name.Constant
    assert found["cells"] is Name


def test_a_block_is_a_kind_of_cost_and_may_be_a_name() -> None:
    found = tokens("compute <is block, block, block>;", "psl")
    assert [kind for kind, part in found if part == "block"] == [Keyword, Name, Name]
    text = "config c { blocks { heat.update = 0.5 ns; } noise { run = 3 %; } }"
    assert [part for kind, part in tokens(text, "hmcl") if kind in Error] == []


TUNABLE = """var control: x; proc tunable task { task when [1 s] [x] [({16 .. 64 by 2x}, {model by}, 1)];
task_loop (2) task_select { when (x == 1) task control [] [] [({1..2}, {2, 1 s}, 1)]; finally { x = 1; } } }"""


def test_words_of_tunable_procedures_are_coloured_where_they_mean_that_and_may_be_names() -> None:
    found = tokens(TUNABLE, "psl")
    words = [part for kind, part in found if kind in Keyword]
    assert set(TUNABLE_WORDS) <= set(words)
    assert (Keyword.Pseudo, "x") in found
    assert (Number, "1") in found, "a range's dots are no part of its numbers"
    assert [part for kind, part in found if kind is Name and part in TUNABLE_WORDS] == ["task", "when", "by", "control"]
    names = tokens("task = when + by * model; control = finally;", "psl")
    assert [part for kind, part in names if kind in Keyword] == []
    assert [part for kind, part in found if kind in Error] == []


def test_editors_know_the_words_of_tunable_procedures() -> None:
    grammar = editor_grammar("psl")
    scopes = {
        text: editor_scope(grammar, text)
        for text in (
            "task t [1 s]",
            "task_select {",
            "when (c",
            "finally {",
            "task_loop (3)",
            "by 2x",
            "model sampling",
        )
    }
    assert [text for text, scope in scopes.items() if not scope.startswith("keyword")] == []
    assert editor_scope(grammar, "task = 1") == ""
    assert editor_scope(grammar, "2x}") == "constant.numeric.psl"


def used(word: str) -> str:
    return f"{word}(1)" if word in FUNCTION_ARITIES else f"{word} x"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_of_the_language_is_an_ordinary_name(language: str) -> None:
    assert [word for word in WORDS[language] if (Name, word) in tokens(used(word), language)] == []


def test_units_are_part_of_their_number() -> None:
    assert [unit for unit in UNITS if (Keyword.Pseudo, unit) not in tokens(f"3.2 {unit};", "psl")] == []


@given(st.text(max_size=60))
def test_any_text_is_coloured_whole(text: str) -> None:
    for file in ("psl", "hmcl"):
        # Pygments leaves out a byte order mark and gives every text a line's end, always \n.
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        shown = "".join(part for _, part in tokens(text, file))
        assert shown.strip("\n") == lines.strip("\n")


def editor_grammar(language: str) -> dict[str, Any]:
    path = resources.etc() / "editors" / f"{language}.tmLanguage.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def editor_scope(grammar: dict[str, Any], text: str) -> str:
    """Return the scope that the first pattern to match at the start of a text gives, as an editor does."""
    for pattern in grammar["patterns"]:
        match = re.match(pattern.get("match") or pattern["begin"], text)
        if match:
            return str(pattern.get("name") or pattern["captures"]["1"]["name"])
    return ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_editors_know_every_word(language: str) -> None:
    grammar = editor_grammar(language)
    scopes = {word: editor_scope(grammar, used(word)) for word in WORDS[language]}
    assert [word for word, scope in scopes.items() if not scope.endswith(f".{language}")] == []
    assert [word for word in WORDS[language] if editor_scope(grammar, f"x{used(word)}")] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_editors_know_only_words_of_the_language(language: str) -> None:
    """Whatever a pattern lists word by word is a word of the language."""
    listed = {
        word
        for pattern in editor_grammar(language)["patterns"]
        for part in re.findall(r"\(\??:?([\w|]+)\)", pattern.get("match", ""))
        for word in part.split("|")
        if re.fullmatch(r"[A-Za-z]\w{3,}", word)
    }
    known = {*WORDS["psl"], *WORDS["hmcl"], *TUNABLE_WORDS} | {
        part for name in MESSAGE_SETTINGS for part in (name, name.removeprefix("long_"))
    }
    assert listed
    assert {word for word in listed if word not in known} <= {"COMM", "TSEND", "TRECV", "long_"}


def test_the_extension_for_editors_names_its_files() -> None:
    folder = resources.etc() / "editors"
    contributes = json.loads((folder / "package.json").read_text(encoding="utf-8"))["contributes"]
    for language, grammar in zip(contributes["languages"], contributes["grammars"], strict=True):
        assert (folder / language["configuration"]).is_file()
        assert editor_grammar(language["id"])["scopeName"] == grammar["scopeName"]
        assert (folder / grammar["path"]).name == f"{language['id']}.tmLanguage.json"
