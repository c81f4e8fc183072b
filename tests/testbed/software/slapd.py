"""Debian's OpenLDAP server for tests of what goes into a directory, whatever the machine has installed.

The packages of the machine's own suite are unpacked into a folder: nothing is installed, and no rights are needed.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demo.ports import free_ports
from tests.testbed.software.debian import library_path, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Directory", "directory", "prefix"]

_RECIPE = "slapd-1"
_PACKAGES = ("slapd", "ldap-utils")
_PATIENCE = 60.0
_SETTINGS = """include {root}/etc/ldap/schema/core.schema
include {schema}
modulepath {root}/usr/lib/ldap
moduleload back_mdb
pidfile {work}/slapd.pid
argsfile {work}/slapd.args
database mdb
suffix "{suffix}"
directory {work}/data
"""


def prefix() -> Path:
    """Return the folder with usr/sbin/slapd; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return unpacked(_RECIPE, _PACKAGES)


@dataclass(frozen=True)
class Directory:
    """A server that runs."""

    url: str

    def search(self, base: str, scope: str, query: str, *attributes: str) -> str:
        """Return what an anonymous client finds, as LDIF in long lines."""
        return _run(
            "usr/bin/ldapsearch",
            "-x",
            "-LLL",
            "-o",
            "ldif-wrap=no",
            "-H",
            self.url,
            "-b",
            base,
            "-s",
            scope,
            query,
            *attributes,
        )


@contextmanager
def directory(work: Path, schema: Path, suffix: str, ldif: str) -> Iterator[Directory]:
    """Load a directory and serve it on a free port of the loopback interface.

    Args:
        work: an empty folder for configuration and data.
        schema: what it needs beside OpenLDAP's core schema.
        suffix: the tree's root.
        ldif: all that is in it.

    Raises:
        CalledProcessError: schema or tree were refused; `stderr` says why.
    """
    (work / "data").mkdir()
    settings, tree = work / "slapd.conf", work / "tree.ldif"
    settings.write_text(_SETTINGS.format(root=prefix(), schema=schema, work=work, suffix=suffix))
    tree.write_text(ldif, encoding="ascii")
    _run("usr/sbin/slapadd", "-f", str(settings), "-l", str(tree))
    url = f"ldap://127.0.0.1:{free_ports(1)[0]}/"
    server = subprocess.Popen(
        [prefix() / "usr/sbin/slapd", "-d", "0", "-h", url, "-f", settings], env=_environment(), stderr=subprocess.PIPE
    )
    try:
        _wait(server, Directory(url))
        yield Directory(url)
    finally:
        server.terminate()
        server.communicate(timeout=_PATIENCE)


def _wait(server: subprocess.Popen[bytes], running: Directory) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            running.search("", "base", "(objectClass=*)")
        except subprocess.CalledProcessError as error:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"slapd does not answer: {error.stderr}") from error
            time.sleep(0.05)
        else:
            return


def _run(program: str, *arguments: str) -> str:
    command = [str(prefix() / program), *arguments]
    return subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True, timeout=240).stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": library_path(prefix()), "LDAPNOINIT": "1"}
