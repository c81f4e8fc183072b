from __future__ import annotations

import pytest

from tests.testbed.software import browser, slapd
from tests.testbed.software.__main__ import main


def test_what_is_prepared_is_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slapd"]) == 0
    assert capsys.readouterr().out.strip() == str(slapd.prefix())
    assert (slapd.prefix() / "usr/sbin/slapd").is_file()


@pytest.mark.browser
def test_so_is_the_browser(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["browser"]) == 0
    assert capsys.readouterr().out.strip() == str(browser.prefix())
    assert (browser.prefix() / "usr/lib/chromium/chromium-headless-shell").is_file()


def test_what_is_no_software_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["slurm"])
    assert "no software 'slurm': there are browser, slapd" in capsys.readouterr().err
