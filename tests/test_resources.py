from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from cosched import resources


def test_a_checkout_has_what_travels_with_cosched_beside_the_package() -> None:
    assert list(resources.models().glob("applications/*.psl"))
    assert list(resources.models().glob("hardware/*.hmcl"))
    assert (resources.templates() / "condor" / "job.sub").is_file()
    assert (resources.etc() / "cosched.toml").is_file()


def test_a_wheel_has_it_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "cosched"
    (package / "_data").mkdir(parents=True)
    shutil.copy(Path(resources.__file__), package)
    spec = importlib.util.spec_from_file_location("installed_resources", package / "resources.py")
    assert spec is not None
    assert spec.loader is not None
    installed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(installed)
    assert {installed.models(), installed.templates(), installed.etc()} == {
        package / "_data" / name for name in ("models", "templates", "etc")
    }
