"""Every example of every page in docs/ runs: how, examples.py says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.examples import PAGES, ROOT, Example, Workplace, examples
from tests.testbed.forked.quick_command import quick_command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.daemon

_SECONDS = {"elastic.md": 85, "federation.md": 45, "using.md": 40}  # of pages whose examples take long


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return quick_command(tmp_path_factory.mktemp("command"))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=pytest.mark.slow(_SECONDS.get(name, 10)))
        for page in PAGES
        for name in [str(page.relative_to(ROOT / "docs"))]
    ],
)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, command: Path) -> None:
    with Workplace(tmp_path, command) as workplace:
        for example in examples(page):
            workplace.run(example)


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (("ruby",), "puts 1", "'ruby' is no kind of example"),
        (("sh", "sometimes"), "true", "'sh sometimes' is no kind of example"),
        (("sh",), "useradd someone", "write `sh shown`"),
        (("sh",), "cosched model check nowhere.psl", "cannot be read"),
        (("python",), "assert 1 == 2, 'not so'", "not so"),
        (("psl",), "application a { incude b; }", "did you mean include"),
        (("hmcl",), "config a { clc { LFOR = -1; } }", "a cost is finite and not negative"),
        (("json",), "{1}", "Expecting property name"),
        (("toml",), "a = ", "Invalid value"),
        (("toml", "config"), "[domain]\nstat = 1", "stat"),
        (("json", "plan"), '{"hosts": 2}', "tasks"),
    ],
)
def test_an_example_that_does_not_work_fails_with_its_place(
    words: tuple[str, ...], text: str, message: str, tmp_path: Path, command: Path
) -> None:
    with Workplace(tmp_path, command) as workplace, pytest.raises(AssertionError, match=f"page.md:7.*(?s:.*){message}"):
        workplace.run(Example("page.md:7", words, text))


def test_what_is_only_shown_is_not_run(tmp_path: Path, command: Path) -> None:
    with Workplace(tmp_path, command) as workplace:
        workplace.run(Example("page.md:1", ("sh", "shown"), "false"))
        workplace.run(Example("page.md:1", (), "whatever"))
