"""Debian's Chromium without a window for tests of pages, with fonts of its own, whatever the machine has installed.

The packages of the machine's own suite are unpacked into a folder: nothing is installed, and no rights are needed.
Pictures come out alike everywhere, because the fonts are part of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from tests.testbed.software.cache import cached
from tests.testbed.software.debian import release, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

__all__ = ["chromium", "prefix"]

_RECIPE = "chromium-shell-1"
_PACKAGES = ("chromium-headless-shell", "fonts-inter", "fonts-jetbrains-mono", "fontconfig-config")
_LIBRARIES = ("usr/lib/*-linux-gnu", "lib/*-linux-gnu", "usr/lib/*-linux-gnu/pulseaudio", "usr/lib/*-linux-gnu/nss")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/icons")
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="strong"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>monospace</family><prefer><family>JetBrains Mono</family></prefer></alias>
</fontconfig>
"""


def prefix() -> Path:
    """Return the folder with Chromium's usr/lib/chromium; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return cached(_RECIPE, _install)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless Chromium; what it leaves in its temporary folder goes with it."""
    root = prefix()
    libraries = [str(folder) for pattern in _LIBRARIES for folder in root.glob(pattern)]
    environment: dict[str, str | float | bool] = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "LANGUAGE": "en_GB",  # of dates in forms
        "FONTCONFIG_FILE": str(root / "fonts.conf"),
    }
    # Its sandbox wants rights that neither root nor a container gives; the pages are our own.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"]
    with tempfile.TemporaryDirectory(prefix="cosched-browser-") as own, sync_playwright() as playwright:
        environment["TMPDIR"] = own
        browser = playwright.chromium.launch(
            executable_path=root / "usr/lib/chromium/chromium-headless-shell", args=arguments, env=environment
        )
        try:
            yield browser
        finally:
            browser.close()


def _install(target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(release(), _PACKAGES, target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for folder in _UNUSED:
        shutil.rmtree(target / folder, ignore_errors=True)
    fonts, cache = target / "usr/share/fonts", target / "fonts-cache"
    (target / "fonts.conf").write_text(_FONTS.format(fonts=fonts, cache=cache))
