"""Executions of lines and branches are counted: by gcov for compiled programs, by tracing for Python.

Start at `Counter`. A head of a loop counts as often as its body: the one test more belongs to what is around it.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter as Tally
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.errors import UserError
from cosched.language.vocabulary import PROCESSORS
from cosched.measurement.programs.observation import one_program, read_traces
from cosched.measurement.programs.watching import SHIM_VARIABLE
from cosched.modelling.derivation.operations import looping, operations_of
from cosched.modelling.derivation.programs import build, language_of, run_once, source_text, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.measurement.programs.traces import Trace
    from cosched.modelling.derivation.operations import Operations
    from cosched.modelling.derivation.sizes import Parameter

__all__ = ["CountedRun", "Counter", "Counts", "Place"]

_GCOV_LIMIT = 120.0  # seconds
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_TEST = re.compile(r"\s*(?:\d+\s+)?(?:else\s*)?if\b", re.IGNORECASE)
_DEMANGLED = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:<[^()]*>)?\(")  # `int total<int>(std::vector<int> const&)`
_DEFINED = re.compile(r"(?:__\w+?_MOD_)?(?P<name>\w+?)_*")


@dataclass(frozen=True, slots=True)
class CountedRun:
    """A run of a program.

    Attributes:
        counts: of its lines.
        traces: what its processes wrote of their calls of MPI; none where they were not watched.
    """

    counts: Counts
    traces: Sequence[Trace]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a source that is counted.

    Attributes:
        file: index of the source.
        line: from 1.
        part: 0 for the line itself, from 1 its loops and alternatives.
        function: that it is in.
    """

    file: int
    line: int
    part: int
    function: str


Counts = dict[Place, int]
"""Executions of each place in one run."""


class Counter:
    """Builds a program once and counts its lines at any sizes.

    Attributes:
        sources: absolute paths.
        texts: their lines.
        functions: the first and the last line of each, by source and name; known once the program has run.
    """

    def __init__(
        self, sources: Sequence[Path], folder: Path, *, gcov: str = "gcov", library: Path | None = None
    ) -> None:
        """Read the sources.

        Args:
            sources: of one program.
            folder: an empty one, for all that is made.
            gcov: the command that reads counts; that of the compiler's version.
            library: that watches calls of MPI; None: they are not watched.

        Raises:
            UserError: they cannot be read, or are in different languages.
        """
        self.sources = [path.resolve() for path in sources]
        self.language = language_of(self.sources)
        self.texts = [source_text(path).splitlines() for path in self.sources]
        self._fortran = self.language.name == "Fortran"
        self.functions: dict[tuple[int, str], tuple[int, int]] = {}
        self._folder = folder
        self._gcov = gcov
        self._library = library

    def build(self, template: str, flag: str = "") -> None:
        """Compile the program, unless it is in Python; see `programs.build`."""
        if self.language.compilers:
            if shutil.which(self._gcov) is None:
                raise UserError(
                    f"--gcov: there is no program {self._gcov!r}: install gcc's, or name that of your compiler"
                )
            build(self.sources, self.language, template, self._folder, flag)
        elif template:
            raise UserError("--build: a program in Python is not built: leave it out")

    def operations(self) -> dict[tuple[int, int], Operations]:
        """Return the operations of each line, by its source and number, of a program built with `DUMP_FLAG`.

        Raises:
            UserError: the compiler wrote none.
        """
        found: dict[tuple[int, int], Operations] = {}
        for dump in sorted(self._folder.rglob("*.ssa")):
            for (name, line), done in operations_of(dump.read_text(encoding="utf-8", errors="replace")).items():
                path = Path(self._folder, name).resolve()
                if path in self.sources:
                    file = self.sources.index(path)
                    text = self.texts[file][line - 1] if line <= len(self.texts[file]) else ""
                    found[file, line] = looping(done, text)
        if not found:
            raise UserError(
                "--operations: the compiler wrote none: give gcc or gfortran, with {flags} and -o {program}, in --build"
            )
        return found

    def command(self, template: str, parameters: Sequence[Parameter], size: Mapping[str, int]) -> list[str]:
        """Return the words that run the program at a size."""
        program = str(self._folder / "program" if self.language.compilers else self.sources[0])
        values = {each.name: str(size[each.name]) for each in parameters}
        parts = ["mpirun -np {Nproc}" if PROCESSORS in values else "", "" if self.language.compilers else "{python}"]
        default = " ".join([*parts, "{program}", *(f"{{{name}}}" for name in values if name != PROCESSORS)])
        return words_of(
            template or default,
            "--run",
            {"program": program, "python": sys.executable, **values},
            [each.name for each in parameters if len(each.values) > 1],
        )

    def count(self, words: Sequence[str], limit: float, what: str) -> CountedRun:
        """Run the program once.

        Args:
            words: of its command.
            limit: seconds.
            what: is run, for people.

        Raises:
            UserError: it fails, lasts too long, or writes no counts.
        """
        folder = Path(tempfile.mkdtemp(prefix="run", dir=self._folder))
        calls = folder / "calls"
        environment = {} if self._library is None else {SHIM_VARIABLE: str(calls), "LD_PRELOAD": str(self._library)}
        try:
            calls.mkdir()
            if self.language.compilers:
                environment |= {"GCOV_PREFIX": str(folder), "GCOV_PREFIX_STRIP": "0"}
                run_once(words, folder, environment, limit, what)
                counts = self._gcov_counts(folder, what)
            else:
                counts = self._python_counts(words, folder, environment, limit, what)
            traces = read_traces(calls.iterdir())
            return CountedRun(counts, traces if one_program(traces) else [])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _python_counts(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float, what: str
    ) -> Counts:
        program = str(self.sources[0])
        if program not in words:
            raise UserError("--run lacks {program}: Python runs the source through what counts its lines")
        place = words.index(program)
        with as_file(files("cosched.modelling.derivation") / "line_counter.py") as tracer:
            traced = [*words[:place], str(tracer), str(folder / "counts.json"), *words[place:]]
            run_once(traced, folder, environment, limit, what)
        for each in ast.walk(ast.parse("\n".join(self.texts[0]))):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions[0, each.name] = (each.lineno, each.end_lineno or each.lineno)
        counts: Tally[Place] = Tally()
        found = list(folder.glob("counts.json.*"))
        if not found:
            raise UserError(f"{what} wrote no counts: it must end by itself, not by os._exit")
        for part in found:
            for function, line, times in json.loads(part.read_text(encoding="utf-8")):
                counts[Place(0, line, 0, "main" if function == "<module>" else function.strip("<>"))] += times
        return dict(counts)

    def _gcov_counts(self, folder: Path, what: str) -> Counts:
        data = sorted(folder.rglob("*.gcda"))
        if not data:
            raise UserError(
                f"{what} wrote no counts: it must be compiled and linked with --coverage ({{flags}} in --build) and "
                "end by itself"
            )
        for counted in data:
            notes = Path("/", *counted.relative_to(folder).parts).with_suffix(".gcno")
            if not notes.is_file():
                raise UserError(f"{what}: {notes} is gone, without which its counts mean nothing: build once more")
            shutil.copy(notes, counted.with_suffix(".gcno"))
        counts: Tally[Place] = Tally()
        for document in self._gcov_documents(folder, [str(each) for each in data], what):
            for part in document["files"]:
                path = Path(document["current_working_directory"], part["file"]).resolve()
                if path in self.sources:
                    file = self.sources.index(path)
                    names = {each["name"]: _plain(each["demangled_name"]) for each in part["functions"]}
                    for each in part["functions"]:
                        self.functions[file, names[each["name"]]] = (each["start_line"], each["end_line"])
                    for place, times in self._places(file, part["lines"], names):
                        counts[place] += times
        if not counts:
            raise UserError(f"{what} counted no line of {self.sources[0].name}: --build must compile the sources named")
        return dict(counts)

    def _gcov_documents(self, folder: Path, data: Sequence[str], what: str) -> Iterator[dict[str, Any]]:
        try:
            done = subprocess.run(
                [self._gcov, "--json-format", "--stdout", "--branch-probabilities", "--branch-counts", *data],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_GCOV_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError(
                f"{self._gcov} cannot be run ({error}): install gcc's, or name another with --gcov"
            ) from error
        complaint = next((line for line in done.stderr.splitlines() if "mismatch" in line or "version" in line), "")
        if "stamp mismatch" in complaint:
            raise UserError(f"{what}: its counts are of another build than its notes (.gcno): build once more")
        if done.returncode or complaint:
            words = (complaint or done.stderr).split("\n", 1)[0].strip()[:200]
            raise UserError(f"{self._gcov} cannot read the counts ({words}): give --gcov of the compiler's own version")
        try:
            for line in filter(None, done.stdout.splitlines()):
                yield json.loads(line)
        except ValueError as error:
            raise UserError(f"{self._gcov} prints no JSON ({error}): give one of gcc 9 or later with --gcov") from error

    def _places(
        self, file: int, lines: Sequence[Mapping[str, Any]], names: Mapping[str, str]
    ) -> Iterator[tuple[Place, int]]:
        """Yield the places of a source with their executions; a line that holds loops yields their bodies."""
        for line in lines:
            number = line["line_number"]
            function = names.get(line.get("function_name", ""), "main")
            text = self.texts[file][number - 1] if number <= len(self.texts[file]) else ""
            branches = [branch["count"] for branch in line["branches"] if not branch["throw"]]
            yield Place(file, number, 0, function), line["count"]
            # Fortran loops over arrays without a word.
            loops = len(branches) > 2 or not _TEST.match(text) if self._fortran else _LOOP.search(text)
            for part, count in enumerate(branches if loops else (), 1):
                yield Place(file, number, part, function), count


def _plain(function: str) -> str:
    """Return a function's name without what compilers of C++ and Fortran add."""
    match = _DEFINED.fullmatch(function) or _DEMANGLED.search(function)
    return match["name"] if match else "main"
