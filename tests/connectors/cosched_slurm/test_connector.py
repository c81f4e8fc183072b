"""What the connector does with answers that the tests' cluster does not give; the rest is the contract's, on that."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, Launch
from cosched_slurm.connector import SlurmConnector

if TYPE_CHECKING:
    from pathlib import Path

_SBATCH = """\
#!/bin/sh
echo "$*" >> {calls}
for option in "$@"; do
    case $option in --array=*) echo "sbatch: error: Batch job submission failed: {refusal}" >&2; exit 1;; esac
done
[ "$(wc -l < {calls})" -le {room} ] || {{ echo "sbatch: error: Job violates accounting/QOS policy" >&2; exit 1; }}
wc -l < {calls}
"""
_POLICY, _NO_ARRAYS = "Job violates accounting/QOS policy", "Invalid job array specification"


def _connector(folder: Path, refusal: str, room: int) -> SlurmConnector:
    programs = folder / "bin"
    programs.mkdir()
    for name, text in {"sbatch": _SBATCH.format(calls=folder / "calls", refusal=refusal, room=room),
                       "srun": "#!/bin/sh\n"}.items():  # fmt: skip
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return SlurmConnector({"spool": str(folder / "spool"), "bin": str(programs)})


def _launches(count: int) -> list[Launch]:
    return [Launch(str(uuid.UUID(int=number + 1)), str(number), "job array", ("/bin/true",)) for number in range(count)]


def test_of_more_jobs_than_a_user_may_have_some_go(tmp_path: Path) -> None:
    connector = _connector(tmp_path, _POLICY, room=3)
    launches = _launches(4)
    found = connector.submit_many(launches)
    assert [found[launch.attempt] for launch in launches[:2]] == ["2", "3"]
    assert all(isinstance(found[launch.attempt], ConnectorError) for launch in launches[2:])


@pytest.mark.parametrize(("refusal", "again"), [(_NO_ARRAYS, False), (_POLICY, True)])
def test_a_cluster_without_arrays_is_asked_for_one_once(tmp_path: Path, refusal: str, *, again: bool) -> None:
    connector = _connector(tmp_path, refusal, room=100)
    launches = _launches(4)
    for pair in (launches[:2], launches[2:]):
        assert not [one for one in connector.submit_many(pair).values() if isinstance(one, ConnectorError)]
    arrays = [line for line in (tmp_path / "calls").read_text().splitlines() if "--array=" in line]
    assert len(arrays) == 1 + again
