"""The package can be built, and what is installed works far from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Both need packages from the index, so they are no part of `make check`.
pytestmark = [pytest.mark.slow, pytest.mark.index, pytest.mark.timeout(900)]


def run(command: list[str], folder: Path) -> str:
    """Run a command as somebody would who has no checkout on his path, and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COSCHED"))}
    environment |= {"XDG_STATE_HOME": str(folder), "HOME": str(folder)} if command[0] != sys.executable else {}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def test_source_and_wheel_are_built_with_all_that_travels(tmp_path: Path) -> None:
    # Whether what the build asks for is enough the other test shows, in an environment that pip makes.
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)], tmp_path)
    (source,) = tmp_path.glob("cosched-*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "cosched/errors.py", "models/applications/sweep3d.psl"} <= inside
    (wheel,) = tmp_path.glob("cosched-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "cosched").rglob("*.py")}
    connectors = {str(path.relative_to(ROOT / "connectors")) for path in (ROOT / "connectors").rglob("*.py")}
    data = {
        f"cosched/_data/{path.relative_to(ROOT)}"
        for folder in ("models", "templates", "etc")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    assert modules | connectors | data <= packed


@pytest.mark.slow(40)
def test_a_bare_environment_gets_a_working_cosched(tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], tmp_path)
    binaries = tmp_path / "bare" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(binaries / "python")]
    run([*pip, "install", "-q", "--no-compile", f"{ROOT}[condor]"], tmp_path)
    where = run([str(binaries / "python"), "-c", "import cosched; print(cosched.__file__)"], tmp_path).strip()
    assert Path(where).is_relative_to(tmp_path)
    (tmp_path / "queue.json").write_text('{"hosts": 2, "tasks": [{"id": "a", "profile": [4.0, 2.0]}]}')
    planned = run([str(binaries / "cosched"), "plan", "queue.json", "--policy", "heuristic", "--json"], tmp_path)
    assert json.loads(planned)["makespan"] == 2.0
    predicted = run([str(binaries / "cosched"), "model", "predict", "sweep3d_measured", "--json"], tmp_path)
    assert json.loads(predicted)["seconds"]
    found = "entry_points(group='cosched.connectors')"
    code = f"from importlib.metadata import entry_points; [print(each.name, each.load()) for each in {found}]"
    loaded = run([str(binaries / "python"), "-c", code], tmp_path)
    assert sorted(line.split()[0] for line in loaded.splitlines()) == ["condor", "local", "simulated", "slurm"]
