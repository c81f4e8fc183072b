"""Slurm's accounting for a cluster of the testbed: slurmdbd, and the MariaDB that keeps its records.

Debian's packages are unpacked into a folder, as those of Slurm itself; the empty database is made once, beside them.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.slurm.install import SUITE
from tests.testbed.software.cache import cached
from tests.testbed.software.debian import unpack
from tests.testbed.software.relink import relink

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["prefix", "prepare_accounting"]

_RECIPE = "slurmdbd-22.05-1"
_PACKAGES = ("slurmdbd", "slurm-wlm-mysql-plugin", "mariadb-server-core", "patchelf")
_LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/slurm-wlm")
_PATCHED = ("usr/sbin/slurmdbd", "usr/sbin/mariadbd", "usr/lib/x86_64-linux-gnu/slurm-wlm/*.so*")
_LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/perl")
_DATABASE = """\
[mariadbd]
basedir={root}/usr
lc-messages-dir={root}/usr/share/mysql
character-sets-dir={root}/usr/share/mysql/charsets
datadir={data}
tmpdir={data}
socket={data}/socket
user={user}
skip-networking
skip-grant-tables
innodb-log-file-size=4M
innodb-buffer-pool-size=32M
innodb-flush-log-at-trx-commit=0
aria-log-file-size=8M
"""
_DAEMON = """\
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
PluginDir={root}/usr/lib/x86_64-linux-gnu/slurm-wlm
PidFile={directory}/log/slurmdbd.pid
LogFile={directory}/log/slurmdbd
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={user}
StorageLoc=accounting
"""
# Of several lines for one key the last holds.
_CLUSTER = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={directory}/munge/socket
AccountingStorageEnforce=associations,limits,qos
"""


def prefix() -> Path:
    """Return the folder with usr/sbin/slurmdbd and usr/sbin/mariadbd; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return cached(_RECIPE, _install)


def prepare_accounting(directory: Path, port: int) -> tuple[Mapping[str, Path], Mapping[str, str], str]:
    """Write what a cluster's accounting needs.

    Args:
        directory: the cluster's folder.
        port: a free one, for slurmdbd.

    Returns:
        Daemons' names and programs; environment that they need; lines for slurm.conf.
    """
    root, data, user = prefix(), directory / "database", pwd.getpwuid(os.geteuid()).pw_name
    shutil.copytree(root / "data", data)
    (directory / "mariadb.conf").write_text(_DATABASE.format(root=root, data=data, user=user))
    settings = directory / "slurmdbd.conf"
    settings.touch(mode=0o600)
    settings.write_text(_DAEMON.format(directory=directory, port=port, user=user, root=root))
    programs = {name: root / "usr" / "sbin" / name for name in ("mariadbd", "slurmdbd")}
    return programs, {"MYSQL_UNIX_PORT": f"{data}/socket"}, _CLUSTER.format(directory=directory, port=port)


def _install(target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(SUITE, _PACKAGES, target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for folder in _UNUSED:
        shutil.rmtree(target / folder, ignore_errors=True)
    relink(target, _PATCHED, _LIBRARIES, _LOADER)
    _make_database(target)


def _make_database(root: Path) -> None:
    data, settings = root / "data", root / "bootstrap.conf"
    data.mkdir(mode=0o755)
    settings.write_text(_DATABASE.format(root=root, data=data, user=pwd.getpwuid(os.geteuid()).pw_name))
    tables = (root / "usr/share/mysql/mysql_system_tables.sql").read_bytes()
    subprocess.run(
        [root / "usr/sbin/mariadbd", f"--defaults-file={settings}", "--bootstrap"],
        check=True,
        input=b"create database mysql;\nuse mysql;\n" + tables,
        capture_output=True,
    )
