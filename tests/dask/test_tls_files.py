from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from distributed import Client, Scheduler, Security
from hypothesis import given
from hypothesis import strategies as st

from cosched.dask.tls_files import ClusterTlsFiles, join_address, make_tls_files, split_address
from cosched.errors import UserError


def test_the_files_are_their_owners_alone(tmp_path: Path) -> None:
    files = make_tls_files(tmp_path / "tls")
    assert files.folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in (files.key, files.certificate)] == [0o600, 0o600]
    assert "PRIVATE KEY" in files.key.read_text()
    files.remove()
    assert not files.folder.exists()


def test_a_folder_that_is_there_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no certificates for Dask can be made"):
        make_tls_files(tmp_path)


def test_who_has_not_the_files_of_a_cluster_is_not_let_in(tmp_path: Path) -> None:
    own, other = make_tls_files(tmp_path / "own"), make_tls_files(tmp_path / "other")

    async def run() -> None:
        async with Scheduler(
            protocol="tls",
            host="127.0.0.1",
            security=Security(**own.options()),
            dashboard=False,
            dashboard_address="127.0.0.1:0",
        ) as scheduler:
            async with Client(scheduler.address, security=Security(**own.options()), asynchronous=True) as client:
                assert client.status == "running"
            with pytest.raises(OSError, match=r"[Tt]imed out|certificate"):
                await Client(scheduler.address, security=Security(**other.options()), asynchronous=True, timeout=1)

    asyncio.run(run())


@given(
    st.from_regex(r"tls://[a-z0-9.]{1,20}:[0-9]{1,5}", fullmatch=True),
    st.text(st.characters(exclude_characters="\0"), max_size=20).map(lambda name: Path("/spool") / name.lstrip("/")),
)
def test_an_address_is_told_with_its_folder(address: str, folder: Path) -> None:
    assert split_address(join_address(address, ClusterTlsFiles(folder))) == (address, ClusterTlsFiles(folder))


@given(st.text(max_size=40))
def test_anything_else_is_no_address(told: str) -> None:
    try:
        address, files = split_address(told)
    except UserError:
        return
    assert told == join_address(address, files) or files.folder != Path(told.partition("#")[2])


@pytest.mark.parametrize("told", ["", "tcp://host:1#/x", "tls://host:1", "tls://host:1#folder", "host:1#/x"])
def test_an_address_without_tls_or_folder_is_refused(told: str) -> None:
    with pytest.raises(UserError, match="is no address of a Dask scheduler"):
        split_address(told)
