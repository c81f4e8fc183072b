"""The fenced examples of the pages in docs/, and how each kind is run.

What stands after the three backticks says what becomes of an example:

    psl, hmcl        written to a file named after its application or configuration, checked, and evaluated
    sh               run by bash in a folder that holds the page's files so far, `models/` and an executable `program`;
                     lines begin with `cosched`, `curl` or `sed`, so that no page installs anything here. A line
                     `cosched serve --config FILE` is a daemon that runs until the page ends
    python           executed in that folder
    json plan        given to `cosched plan`, with the policy that a third word may name
    toml config      read by `cosched config show --config`
    toml FILE.toml   the same, written to this file
    toml application NAME.toml   an entry of the catalogue, written to `applications.d`
    python FILE.py   a program, written to this file
    json, toml       parsed, each line or the whole
    nothing          no example: what a command prints, or a form with places to fill in

A second word `daemon` (`sh daemon`, `python daemon`) runs it against a daemon of the page's own, which `toml daemon`
configures before it starts; `shown` does not run it: it needs root, another system or a secret. A page with anything
else fails. Blocks may be indented. Folders in /tmp become folders of the page's own, ports of 127.0.0.1 free ones.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import time
import tomllib
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self
from unittest import mock

from cosched.evaluation import load, load_hardware, profile
from cosched.language import check_files, default_library
from cosched.prediction.catalogue import Catalogue
from cosched.scheduling.tunable.modelled import modelled_chains
from demo.ports import free_ports
from demo.site import end_local_jobs
from tests.models.library import library_hardware
from tests.testbed.forked.nursery import forked_daemon

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PAGES", "Example", "Workplace", "examples"]

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=/)86\d\d(?=/)")  # of an address, or put in its place by sed
_SERVE = re.compile(r"^cosched serve --config (\S+)$", re.MULTILINE)
_COMMANDS = ("cosched ", "curl ", "sed ")
_HOSTS = 4  # of local slots
_CONFIG = """[domain]
state = "{folder}/.local/state/cosched"
[planning]
policy = "fcfs-maximum"
[connector.local]
spool = "{folder}/spool"
hosts = {hosts}
[applications]
folders = ["{root}/etc/applications.d"]
"""
_PYTHON = """#!/bin/sh
PYTHONPATH={root} exec {python} "$@"
"""


class Example(NamedTuple):
    """One fenced block: where it stands, the words after its backticks, and its text."""

    place: str
    words: tuple[str, ...]
    text: str


def examples(page: Path) -> list[Example]:
    """Return the examples of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Example(
            f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}",
            tuple(match[2].split()),
            textwrap.dedent(match[3]),
        )
        for match in _FENCE.finditer(text)
    ]


class Workplace:
    """Where the examples of one page run."""

    def __init__(self, folder: Path, command: Path) -> None:
        """Make a place.

        Args:
            folder: where.
            command: the program `cosched`.
        """
        self.folder = folder
        self._open = ExitStack()
        self._ports: dict[str, str] = {}  # of the page → free
        self._environment = {
            "HOME": str(folder),
            "XDG_STATE_HOME": "",
            "COSCHED_CONFIG": str(folder / "cosched.toml"),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "COLUMNS": "120",
        }
        (folder / "models").symlink_to(ROOT / "models")
        (folder / "cosched.toml").write_text(_CONFIG.format(folder=folder, root=ROOT, hosts=_HOSTS), encoding="utf-8")
        (folder / "bin").mkdir()
        (folder / "bin" / "cosched").symlink_to(command)
        (folder / "bin" / "python3").write_text(_PYTHON.format(root=ROOT, python=sys.executable), encoding="utf-8")
        (folder / "bin" / "python3").chmod(0o755)
        (folder / "program").write_text("#!/bin/bash\nexit 0\n", encoding="utf-8")
        (folder / "program").chmod(0o755)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        if (spool := self.folder / "spool").exists():
            end_local_jobs(spool, _HOSTS)  # they outlive their daemon

    def run(self, example: Example) -> None:
        """Run one example.

        Raises:
            AssertionError: it does not do what it shows, or nobody knows how to run it.
        """
        if not example.words or example.words[1:] == ("shown",):
            return
        language, *more = example.words
        text = self._with_own_places(example.text)
        if language == "toml" and more and more[0].endswith(".toml"):
            (self.folder / more[0]).write_text(text, encoding="utf-8")
            more = ["config"]
        if language == "toml" and more and more[0] == "application":
            (self.folder / "applications.d").mkdir(exist_ok=True)
            (self.folder / "applications.d" / more[1]).write_text(text, encoding="utf-8")
            assert Catalogue([self.folder / "applications.d"]).get(more[1].removesuffix(".toml"))
            return
        if language == "python" and more and more[0].endswith(".py"):
            (self.folder / more[0]).write_text(text, encoding="utf-8")
            return
        if more == ["daemon"] and language != "toml":
            self._daemon()
            more = []
        if (language, *more[:1]) == ("json", "plan"):
            policy = "".join(f" --policy {name}" for name in more[1:])
            more = ["plan"]
        kinds = {
            "psl": self._psl,
            "hmcl": self._hmcl,
            "sh": self._sh,
            "python": self._python,
            "json": _json,
            "toml": _toml,
            "json plan": lambda text: self._plan(text, policy),
            "toml config": self._config,
            "toml daemon": self._daemon_config,
        }
        how = kinds.get(" ".join([language, *more]))
        assert how, f"{example.place}: {' '.join(example.words)!r} is no kind of example: see tests/docs/examples.py"
        try:
            how(text)
        except Exception as error:
            raise AssertionError(f"{example.place}: {error}") from error

    def _with_own_places(self, text: str) -> str:
        new = sorted(set(_PORT.findall(text)) - set(self._ports))
        self._ports |= dict(zip(new, map(str, free_ports(len(new))), strict=True))
        return _PORT.sub(lambda found: self._ports[found[0]], text).replace("/tmp/", f"{self.folder}/")

    def _psl(self, text: str) -> None:
        path = self._file(text, "application|subtask|partmp", "psl")
        faults = check_files([path], default_library())
        assert faults == [], [fault.render() for fault in faults]
        if "application" in text:
            application = load(path)
            name = application.hardware or "sgi_origin2000"
            beside = (self.folder / f"{name}.hmcl").is_file()
            hardware = load_hardware(name, None, self.folder) if beside else library_hardware(name)
            if "proc tunable" in text:
                assert modelled_chains(application, hardware, {}, 16).chains
            else:
                assert (profile(application, hardware, [1, 2, 4]) > 0).all()

    def _hmcl(self, text: str) -> None:
        path = self._file(text, "config", "hmcl")
        faults = check_files([path], default_library())
        assert faults == [], [fault.render() for fault in faults]
        load_hardware(path)

    def _file(self, text: str, kinds: str, suffix: str) -> Path:
        found = re.search(rf"^(?:{kinds}) (\w+)", text, re.MULTILINE)
        assert found, f"no {kinds}"
        path = self.folder / f"{found[1]}.{suffix}"
        path.write_text(text, encoding="utf-8")
        return path

    def _sh(self, text: str) -> None:
        for config in _SERVE.findall(text):
            self._open.enter_context(_serving(self.folder / config, {**self._environment, "COSCHED_CONFIG": ""}))
        text = _SERVE.sub("", text)
        foreign = [line for line in text.splitlines() if line and not line.startswith((*_COMMANDS, "#", " "))]
        assert not foreign, f"{foreign[0]!r} is no command of cosched's: write `sh shown`"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            timeout=500,
            text=True,
            capture_output=True,
            env={**os.environ, **self._environment},
            check=False,
        )
        assert done.returncode == 0, f"{text}{done.stdout[-2000:]}{done.stderr[-2000:]}"

    def _python(self, text: str) -> None:
        with chdir(self.folder), mock.patch.dict(os.environ, self._environment):
            exec(compile(text, "example", "exec"), {"__name__": "__main__"})

    def _plan(self, text: str, policy: str) -> None:
        (self.folder / "problem.json").write_text(text, encoding="utf-8")
        self._sh(f"cosched plan problem.json --budget 0.1{policy}")

    def _config(self, text: str) -> None:
        (self.folder / "applications.d").mkdir(exist_ok=True)
        (self.folder / "page.toml").write_text(text, encoding="utf-8")
        self._sh("cosched config show --config page.toml")

    def _daemon_config(self, text: str) -> None:
        assert "COSCHED_SERVER" not in self._environment, "the page's daemon runs by now"
        (self.folder / "config.d").mkdir(exist_ok=True)
        (self.folder / "config.d" / "page.toml").write_text(text, encoding="utf-8")
        self._sh("cosched config show")

    def _daemon(self) -> None:
        """Start the page's daemon, if it does not run yet."""
        if "COSCHED_SERVER" not in self._environment:
            self._open.enter_context(_serving(self.folder / "cosched.toml", self._environment))
            self._environment["COSCHED_SERVER"] = f"unix:{self.folder}/.local/state/cosched/cosched.sock"


def _json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


def _toml(text: str) -> None:
    tomllib.loads(text)


@contextmanager
def _serving(config: Path, environment: Mapping[str, str]) -> Iterator[None]:
    log = config.with_suffix(".log")
    daemon = forked_daemon(config, log, {**os.environ, **environment})
    until = time.monotonic() + 60
    try:
        while not log.exists() or "serving" not in log.read_text(encoding="utf-8"):
            assert daemon.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < until
            time.sleep(0.02)
        yield
    finally:
        daemon.terminate()
        daemon.wait(60)
