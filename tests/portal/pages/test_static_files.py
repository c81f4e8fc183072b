from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi.testclient import TestClient

from cosched import resources
from tests.portal.makers import portal

if TYPE_CHECKING:
    from typing import Any

EDITOR = Path(__file__).resolve().parents[3] / "tools" / "editor"


def test_what_pages_need_is_read_without_a_login_and_kept(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        client = TestClient(here.app, base_url="http://127.0.0.1")
        for name, kind in (
            ("portal.css", "text/css"),
            ("portal.js", "text/javascript"),
            ("chart.js", "text/javascript"),
            ("idiomorph.js", "text/javascript"),
            ("editor.js", "text/javascript"),
            ("codemirror.js", "text/javascript"),
            ("icon.svg", "image/svg+xml"),
        ):
            answer = client.get(f"/static/{name}")
            assert answer.headers["Content-Type"].startswith(kind)
            assert "immutable" in answer.headers["Cache-Control"]
        assert client.get("/static/..%2Fbase.html").status_code == 404
        assert client.get("/static/base.html").status_code == 404


def test_browsers_get_them_compressed_and_others_as_they_are(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        client = TestClient(here.app, base_url="http://127.0.0.1")
        sizes = {}
        for encoding in ("gzip, deflate, br", "identity"):
            answer = client.get("/static/codemirror.js", headers={"Accept-Encoding": encoding})
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert answer.content == bundle()
            sizes[answer.headers.get("Content-Encoding", "")] = int(answer.headers["Content-Length"])
        assert sizes[""] == len(bundle())
        assert sizes["gzip"] < len(bundle()) / 2


def test_the_editor_component_is_as_its_script_made_it_of_the_locked_packages() -> None:
    head, _, code = bundle().partition(b"\n*/\n")
    text = head.decode()
    assert hashlib.sha256(code).hexdigest() == re.findall(r"[0-9a-f]{64}", text)[0]
    made_of = dict(line.split(" ") for line in re.findall(r"^@?[\w./-]+ [\d.]+$", text, re.MULTILINE))
    packages: dict[str, dict[str, Any]] = json.loads((EDITOR / "package-lock.json").read_text())["packages"]
    locked = {path.removeprefix("node_modules/"): package for path, package in packages.items()}
    assert made_of == {name: locked[name]["version"] for name in made_of}
    asked = json.loads((EDITOR / "package.json").read_text())
    assert set(asked["dependencies"]) <= set(made_of)
    assert {**asked["dependencies"], **asked["devDependencies"]} == {
        name: locked[name]["version"] for name in (*asked["dependencies"], *asked["devDependencies"])
    }
    # Every package is bound by its digest, has a licence that allows this, and the text of it is in the file.
    assert all(locked[name]["integrity"].startswith("sha512-") for name in made_of)
    assert {locked[name]["license"] for name in made_of} == {"MIT"}
    licences = text.partition("Licence of ")[2]
    assert [name for name, version in made_of.items() if f"{name} {version}" not in licences] == []
    assert "Permission is hereby granted, free of charge" in licences


def bundle() -> bytes:
    return (resources.templates() / "portal" / "static" / "codemirror.js").read_bytes()
