"""Make templates/portal/static/codemirror.js, the editor component of the pages, from npm's packages.

python3 tools/editor/build.py

For developers who change a version: edit package.json, run `npm install --package-lock-only
--omit-lockfile-registry-resolved` in this folder, then this. It takes exactly what package-lock.json says (npm checks
the digests there), bundles and minifies it, and writes versions, licences and the digest above it. It needs node and
npm; users and tests need neither.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUNDLE = HERE.parents[1] / "templates" / "portal" / "static" / "codemirror.js"
_ASK = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
_FORM = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--global-name=CodeMirror",
    "--target=es2020",
    "--legal-comments=none",
)


def main() -> int:
    """Build it and print its size."""
    with tempfile.TemporaryDirectory(prefix="cosched-editor-") as name:
        folder = Path(name)
        for file in ("package.json", "package-lock.json", "codemirror.js"):
            shutil.copy(HERE / file, folder)
        subprocess.run(_ASK, cwd=folder, check=True)
        built = folder / "out.js"
        command = (folder / "node_modules/.bin/esbuild", "codemirror.js", *_FORM)
        subprocess.run(
            (*command, f"--outfile={built}", f"--metafile={folder}/meta"),
            cwd=folder,
            check=True,
        )
        used = _packages(json.loads((folder / "meta").read_text())["inputs"])
        code = built.read_bytes()
        BUNDLE.write_bytes(_head(folder, used, code).encode() + code)
    sys.stdout.write(f"{BUNDLE}: {BUNDLE.stat().st_size} bytes of {len(used)} packages\n")
    return 0


def _packages(inputs: dict[str, object]) -> list[str]:
    """Return the names of the packages whose files are in the bundle."""
    names = set()
    for path in inputs:
        place, _, rest = path.partition("node_modules/")
        if not place and rest:
            first, second, *_ = rest.split("/")
            names.add(f"{first}/{second}" if first.startswith("@") else first)
    return sorted(names)


def _head(folder: Path, packages: list[str], code: bytes) -> str:
    """Return the comment above the code: what it is made of, its digest, and the licences."""
    holders: dict[str, list[str]] = {}
    for name in packages:
        package = folder / "node_modules" / name
        version = json.loads((package / "package.json").read_text())["version"]
        holders.setdefault(_licence(package), []).append(f"{name} {version}")
    lines = ["Made by tools/editor/build.py of these packages of npm's, bundled and minified, otherwise unchanged.", ""]
    lines += sorted(each for names in holders.values() for each in names)
    lines += ["", f"SHA-256 of what follows this comment and its line: {hashlib.sha256(code).hexdigest()}"]
    for text, names in holders.items():
        lines += ["", f"Licence of {', '.join(names)}:", "", text]
    return "/*! " + "\n".join(lines).replace("*/", "* /") + "\n*/\n"


def _licence(package: Path) -> str:
    lines = (package / "LICENSE").read_text().strip().splitlines()
    return "\n".join(lines[2:] if lines[0] == "MIT License" else lines)


if __name__ == "__main__":
    sys.exit(main())
