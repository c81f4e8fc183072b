"""Each promise of docs/security.md names the tests that show it: they exist, and its figures are in force."""

from __future__ import annotations

import ast
import re
from functools import cache
from inspect import signature

import pytest
import uvicorn

from cosched.access import accounts, principals
from cosched.app.elastic import service
from cosched.app.event_feed import EventFeed
from cosched.app.submission import field_checks, submissions
from cosched.daemon.processes import predictors
from cosched.daemon.web import protocol
from cosched.daemon.web.connections import ServerLimits
from cosched.portal import application, request_bodies
from cosched.portal.computations import Computations
from cosched.portal.submitting import MANY_TASKS
from tests.docs.examples import ROOT

TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|cosched/connector/contract)/[^`…]+)`", TEXT)))
PROMISES = [
    line
    for line in TEXT.split("## What is promised")[1].split("## What is not promised")[0].splitlines()
    if line.startswith("| ") and line != "| promise | test |"
]


@cache
def names_of_tests(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("named", NAMED)
def test_a_test_that_the_page_names_exists(named: str) -> None:
    path, _, name = named.partition("::")
    assert name.startswith("test_")
    assert name in names_of_tests(path)


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_names_its_test(promise: str) -> None:
    assert "`tests/" in promise.strip("| ").rpartition(" | ")[2]


def test_every_sentence_of_what_is_promised_stands_in_a_row_with_its_tests() -> None:
    section = TEXT.split("## What is promised")[1].split("## What is not promised")[0]
    assert [line for line in section.splitlines() if line and not line.startswith(("| ", "|---|", "### "))] == []


PORTS, UNIX = ServerLimits().ports, ServerLimits().unix
FIGURES = (
    (r"A head has (\d+) s to arrive", PORTS.head),
    (r"a body (\d+) s and one more for each", PORTS.body),
    (r"one more for each (\d+) KiB", protocol._BODY_RATE >> 10),
    (r"nothing of its answer (\d+) s", PORTS.stalled),
    (r"an idle connection (\d+) s", signature(uvicorn.Config).parameters["timeout_keep_alive"].default),
    (r"(\d+) connections at ports", PORTS.most),
    (r"at ports, (\d+) of one address", PORTS.most_each),
    (r"the (\d+) connections of one address", PORTS.most_each),
    (r"(\d+) at unix sockets", UNIX.most),
    (r"at unix sockets, (\d+) of one user", UNIX.most_each),
    (r"A request has at most (\d+) MiB", application._LARGEST_BODY >> 20),
    (r"MiB and ([\d,]+) tasks", request_bodies.MOST_TASKS),
    (r"and (\d+) MiB in each", field_checks._LONGEST_TASK >> 20),
    (r"have (\w+) threads of their own", signature(Computations).parameters["threads"].default),
    (r"one of each user at once, for (\d+) s at most", signature(Computations).parameters["longest"].default),
    (r"A dry run has at most (\d+) tasks", submissions._MOST_FORESEEN),
    (r"A user follows (\d+) event streams", signature(EventFeed).parameters["places_each"].default),
    (r"one that takes longer than (\d+) s is ended", predictors._LIMIT),
    (r"each has (\d+) GB of address space", predictors._MEMORY >> 30),
    (r"submissions that may have more than (\d+) tasks", MANY_TASKS),
    (r"and refuses, ([\d,]+) lines at once", service._MOST_LINES),
    (r"one each (\d+) s are kept in its task's log", 1 / service._MOST_LINES_A_SECOND),
    (r"one /64 network\), (\w+) are checked", accounts._TRIES),
    (r"are refused after at most (\d+) s", principals._KNOWN_FOR),
)
WORDS = {"four": 4, "five": 5}


@pytest.mark.parametrize(("sentence", "figure"), FIGURES, ids=[sentence for sentence, _ in FIGURES])
def test_a_figure_of_the_page_is_the_one_in_force(sentence: str, figure: float) -> None:
    (found,) = re.findall(sentence, TEXT)
    assert (WORDS[found] if found in WORDS else float(found.replace(",", ""))) == figure
