"""Packages of a Debian suite, downloaded beside the machine's own apt and unpacked into a folder.

Neither the machine's package lists nor its installed packages change, and no rights are needed. The archive's address
and the transport's settings (proxies, credentials) are those of the machine's own apt.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.software.cache import cached

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PackageError", "library_path", "release", "unpack", "unpacked"]

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_ATTEMPTS = 3
_LIBRARIES = ("usr/lib/*-linux-gnu", "lib/*-linux-gnu")
_UNUSED = ("usr/share",)


class PackageError(Exception):
    """Packages could not be had; the message says why and what to do."""


def unpacked(recipe: str, packages: Sequence[str], *, alone: bool = False) -> Path:
    """Return a folder with packages of the machine's own suite; build it on the first call.

    Args:
        recipe: name of the folder; another one where its content changes.
        packages: their names.
        alone: nothing that they depend on.

    Raises:
        PackageError: the packages cannot be had.
    """

    def install(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="cosched-testbed-") as work:
            unpack(release(), packages, target, Path(work), alone=alone)
        for folder in _UNUSED:
            shutil.rmtree(target / folder, ignore_errors=True)

    return cached(recipe, install)


def library_path(prefix: Path) -> str:
    """Return the value of LD_LIBRARY_PATH for programs of a folder with packages."""
    return os.pathsep.join(str(folder) for pattern in _LIBRARIES for folder in prefix.glob(pattern))


def unpack(suite: str, packages: Sequence[str], prefix: Path, work: Path, *, alone: bool = False) -> None:
    """Download packages of a suite with all they depend on and unpack them.

    Args:
        suite: the Debian suite, for instance "forky".
        packages: names of packages.
        prefix: where to unpack; must exist.
        work: an empty folder for lists and archives.
        alone: nothing that they depend on.

    Raises:
        PackageError: no archive configured, no network, or the suite's signature cannot be verified.
    """
    problems = []
    for archive in _archives():
        try:
            environment = _listed(suite, archive, work)
        except PackageError as error:
            problems.append(str(error))
            continue
        archives = work / suite / "cache" / "archives"
        if alone:
            _apt(environment, "download", *packages, folder=archives)
        else:
            _apt(environment, "install", "--yes", "--download-only", "--no-install-recommends", *packages)
        for package in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, prefix], check=True)
        return
    raise PackageError(f"suite {suite} cannot be read from the archives of this machine's apt: {'; '.join(problems)}")


def _listed(suite: str, archive: str, work: Path) -> dict[str, str]:
    """Fetch and verify the lists of a suite; return the environment that makes apt use them."""
    environment = _private_apt(work / suite, f"deb [signed-by={_KEYRING}] {archive} {suite} main")
    try:
        _apt(environment, "update")
    except PackageError as error:
        if "NO_PUBKEY" not in str(error):
            raise
        # The suite is signed with keys newer than this machine: its own archive, which it trusts, carries them.
        keyring = _newer_keyring(archive, work / "keyring")
        environment = _private_apt(work / suite, f"deb [signed-by={keyring}] {archive} {suite} main")
        _apt(environment, "update")
    return environment


def _archives() -> list[str]:
    """Return the addresses that may be the Debian archive: they carry this machine's own suite, component main."""
    own = {release(), "stable", "testing", "unstable", "sid"}
    listed = _output(
        [
            "apt-get",
            "indextargets",
            "--no-release-info",
            "--format",
            "$(RELEASE) $(COMPONENT) $(REPO_URI)",
            "Created-By: Packages",
        ]
    )
    rows = [line.split(" ", 2) for line in listed.splitlines()]
    addresses = [address for release, component, address in rows if release in own and component == "main"]
    if not addresses:
        raise PackageError(
            "apt on this machine has no Debian archive: the testbed needs Debian and its package sources"
        )
    return list(dict.fromkeys(addresses))


def release() -> str:
    """Return the name of this machine's own suite, for instance "bookworm"."""
    return _output(["sh", "-c", '. /etc/os-release && echo "$VERSION_CODENAME"']).strip()


def _private_apt(folder: Path, *sources: str) -> dict[str, str]:
    """Write an apt configuration with lists, cache and status of its own; return the environment that selects it."""
    for part in ("lists/partial", "cache/archives/partial", "etc"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "etc" / "sources.list").write_text("".join(f"{line}\n" for line in sources))
    settings = {
        "Dir::State": folder,
        "Dir::State::lists": "lists/",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "etc" / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::main": "/dev/null",
        "Dir::Etc::parts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Retries": _ATTEMPTS,
        "Acquire::Languages": "none",
        "APT::Update::Error-Mode": "any",
        # Root's downloads drop to a user who may not enter a private folder.
        "APT::Sandbox::User": "root",
    }
    transport = _output(["apt-config", "dump", "--no-empty", "--format", '%F "%v";%n', "Acquire"])
    configuration = folder / "apt.conf"
    configuration.write_text(transport + "".join(f'{key} "{value}";\n' for key, value in settings.items()))
    return {**os.environ, "APT_CONFIG": str(configuration), "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}


def _newer_keyring(archive: str, folder: Path) -> Path:
    """Fetch the archive keyring that this machine's own suite carries today, verified with the keys it has."""
    environment = _private_apt(folder, f"deb [signed-by={_KEYRING}] {archive} {release()} main")
    _apt(environment, "update")
    _apt(environment, "install", "--yes", "--download-only", "--no-install-recommends", "debian-archive-keyring")
    for package in (folder / "cache" / "archives").glob("debian-archive-keyring_*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder / "keys"], check=True)
    return folder / "keys" / _KEYRING.relative_to("/")


def _apt(environment: dict[str, str], *arguments: str, folder: Path | None = None) -> None:
    command = ["apt-get", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        problems = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W:"))]
        raise PackageError(f"apt-get {arguments[0]} failed: {' '.join(problems) or done.stderr.strip()}")


def _output(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise PackageError(f"{command[0]} cannot be used here ({error}): the testbed needs Debian's apt") from error
