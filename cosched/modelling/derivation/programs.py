"""Programs are compiled for counting and run: in a temporary folder, as their user."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Language", "build", "language_of", "run_once", "source_lines", "source_text", "words_of"]

_BUILD_LIMIT = 600.0  # seconds
_MOST_SOURCES = 200
_MOST_BYTES = 4 << 20
_FLAGS = "-O0 -gdwarf-4 --coverage"  # addr2line of binutils 2.40 names wrong files for version 5
_ADDRESS_LIMIT = 20.0  # seconds
_KEPT_OUTPUT = 64 << 10
# Counts do not depend on how many processors there are: more ranks than those, also for root.
_MANY_RANKS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "^ofi",  # else each start looks a second long for networks between hosts
    "OMPI_MCA_mtl": "^ofi",
}


@dataclass(frozen=True, slots=True)
class Language:
    """A programming language with its compilers.

    Attributes:
        name: for people.
        suffixes: of its files.
        compilers: without and with MPI; none for Python.
        mpi: tells that a source uses MPI.
        threads: tells that a source uses OpenMP.
    """

    name: str
    suffixes: tuple[str, ...]
    compilers: tuple[str, str] | None = None
    mpi: str = r"(?!)"
    threads: str = r"(?!)"


_C_MPI = r"^\s*#\s*include\s*[<\"]mpi\.h|\bMPI_[A-Z]\w*\s*\("  # a header of the program's own may include it
_C_THREADS = r"^\s*#\s*pragma\s+omp"
_LANGUAGES = (
    Language("C", (".c",), ("cc", "mpicc"), _C_MPI, _C_THREADS),
    Language("C++", (".cc", ".cpp", ".cxx"), ("c++", "mpicxx"), _C_MPI, _C_THREADS),
    Language(
        "Fortran",
        (".f", ".for", ".f90", ".f95", ".f03", ".f08"),
        ("gfortran", "mpifort"),
        r"(?i)^\s*(use\s+mpi|include\s*['\"]mpif\.h)",
        r"(?i)^\s*!\$omp",
    ),
    Language("Python", (".py",)),
)


def language_of(sources: Sequence[Path]) -> Language:
    """Return the language that all sources are written in.

    Raises:
        UserError: there is none, or a source cannot be read.
    """
    if not sources or len(sources) > _MOST_SOURCES:
        raise UserError(f"{len(sources)} sources: name between 1 and {_MOST_SOURCES}")
    found = []
    for path in sources:
        language = next((each for each in _LANGUAGES if path.suffix.lower() in each.suffixes), None)
        if language is None:
            known = ", ".join(each.name for each in _LANGUAGES)
            raise UserError(
                f"{path} is in no language that can be counted: give sources in {known} ({path.suffix or 'no suffix'})"
            )
        found.append(language)
    if len(set(found)) > 1:
        raise UserError(
            f"{sources[0]} is in {found[0].name} and another source is not: derive a model of each, or use --build"
        )
    if found[0].compilers is None and len(sources) > 1:
        raise UserError(
            f"several sources in Python: name the one that is run, {sources[0]} say; what it imports is not counted"
        )
    return found[0]


def source_text(path: Path) -> str:
    """Return the text of a source.

    Raises:
        UserError: it cannot be read, or is too long.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path} is longer than {_MOST_BYTES >> 20} MiB: that is no source of a program")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): name a source file") from error


def words_of(template: str, option: str, values: Mapping[str, str], needed: Sequence[str] = ()) -> list[str]:
    """Return the words of a command template with its fields filled in.

    Args:
        template: `./program {nx} {ny}`.
        option: where it was given, for people.
        values: of the fields; one with several words becomes several words where it stands alone.
        needed: fields that must be there.

    Raises:
        UserError: it is no such template.
    """
    try:
        words = shlex.split(template)
        fields = {name for word in words for _text, name, _spec, _how in Formatter().parse(word) if name is not None}
    except ValueError as error:
        raise UserError(
            f"{option} {template[:80]!r} cannot be read ({error}): write a command, as in './program {{n}}'"
        ) from error
    if not words:
        raise UserError(f"{option} is empty: write a command")
    if unknown := sorted(fields - set(values)):
        known = ", ".join(f"{{{name}}}" for name in values)
        raise UserError(f"{option}: {{{unknown[0][:40]}}} is not known: there are {known}")
    if missing := [name for name in needed if name not in fields]:
        raise UserError(f"{option} lacks {{{missing[0]}}}: every parameter of --sizes must be in the command")
    filled: list[str] = []
    for word in words:
        if re.fullmatch(r"\{\w+\}", word):
            filled += shlex.split(values[word[1:-1]])
            continue
        try:
            filled.append(word.format_map(values))
        except ValueError as error:
            raise UserError(f"{option}: {word[:80]!r} cannot be filled in ({error}): write {{n}} alone") from error
    return filled


def build(sources: Sequence[Path], language: Language, template: str, folder: Path, flag: str = "") -> None:
    """Compile sources to `program` in a folder, with counters in every block.

    Args:
        sources: absolute paths.
        language: of all of them.
        template: of the command; empty for the usual compiler.
        folder: where; a fresh one.
        flag: of the compiler, beside those for counting.

    Raises:
        UserError: there is no compiler, or it finds a fault.
    """
    texts = [source_text(path) for path in sources]
    flags = f"{_FLAGS} {flag}".strip()
    quoted = shlex.join(map(str, sources))
    if template:
        words = words_of(template, "--build", {"sources": quoted, "flags": flags, "program": str(folder / "program")})
    else:
        words = [
            *_usual_compiler(language, texts),
            *flags.split(),
            *map(str, sources),
            "-o",
            str(folder / "program"),
            "-lm",
        ]
        # gcov does not see what OpenMP makes functions of its own: without its pragmas one thread does all the work.
        words += ["-lgomp"] if _uses(language.threads, texts) else []
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_BUILD_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{words[0]} still compiles after {_BUILD_LIMIT:g} s: give another --build") from None
    except OSError as error:
        raise UserError(
            f"the compiler {words[0]!r} cannot be run ({error.strerror}): install it (Debian: apt install "
            f"{_PACKAGES.get(words[0], words[0])}), or name another with --build"
        ) from error
    if done.returncode:
        said = (done.stderr or done.stdout).splitlines()
        fault = next(
            (line for line in said if re.search(r"\b(?:fatal )?error\b", line, re.IGNORECASE)), said[-1] if said else ""
        )
        raise UserError(f"{Path(words[0]).name} does not compile the sources: {fault.strip()[:300] or done.returncode}")


_PACKAGES = {
    "cc": "gcc",
    "c++": "g++",
    "gfortran": "gfortran",
    "mpicc": "libopenmpi-dev",
    "mpicxx": "libopenmpi-dev",
    "mpifort": "libopenmpi-dev",
}


def _usual_compiler(language: Language, texts: Sequence[str]) -> list[str]:
    assert language.compilers, "what is not compiled is not built"
    plain, mpi = language.compilers
    return [mpi if _uses(language.mpi, texts) else plain]


def _uses(pattern: str, texts: Sequence[str]) -> bool:
    return any(re.search(pattern, text, re.MULTILINE) for text in texts)


def run_once(words: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float, what: str) -> None:
    """Run a program to its end.

    Args:
        words: of its command.
        folder: where it runs.
        environment: beside that of this process.
        limit: seconds.
        what: is run, for people.

    Raises:
        UserError: it cannot be run, fails or lasts too long.
    """
    if "/" not in words[0] and shutil.which(words[0]) is None:
        raise UserError(f"--run: there is no program {words[0]!r}: give its path")
    with (folder / "output").open("wb") as output:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                env={**_MANY_RANKS, **os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            if folder.parent in Path(words[0]).parents and not Path(words[0]).exists():
                raise UserError("--build made no {program}: name with --run what it makes, by its whole path") from None
            raise UserError(
                f"--run: {words[0]} cannot be run ({error.strerror}): give the path of a program"
            ) from error
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            raise UserError(
                f"{what} did not end within {limit:g} s: give smaller --sizes, or a longer --limit"
            ) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if status:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
        said = _last_line(folder / "output")
        raise UserError(f"{what} {how}{said and f': {said}'}: choose --sizes and --run with which it runs")


def source_lines(program: str, addresses: Sequence[int]) -> list[str]:
    """Return file and line of each address of a program, as `heat.c:16`; empty ones, or none, where nobody says."""
    if not addresses:
        return []
    try:
        done = subprocess.run(
            ["addr2line", "-e", program, *(f"{address:x}" for address in addresses)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ADDRESS_LIMIT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    found = []
    for line in done.stdout.splitlines():
        file, _, number = line.split(" ")[0].rpartition(":")  # ` (discriminator 1)` may follow
        found.append(f"{Path(file).name}:{number}" if number.isdigit() and int(number) else "")
    return found


def _last_line(file: Path) -> str:
    with file.open("rb") as output:
        output.seek(max(0, file.stat().st_size - _KEPT_OUTPUT))
        lines = output.read().decode("utf-8", "replace").split("\n")
    return next((" ".join(line.split())[:200] for line in reversed(lines) if line.strip()), "")
