from __future__ import annotations

import pytest

from tests.testbed.software.browser import chromium, main, prefix

pytestmark = pytest.mark.browser


def test_what_is_prepared_is_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--prepare"]) == 0
    assert capsys.readouterr().out.strip() == str(prefix())
    assert (prefix() / "usr/lib/chromium/chromium-headless-shell").is_file()


@pytest.mark.xdist_group("browser")
def test_it_shows_pages_in_fonts_of_its_own() -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.set_content("<p id=a style='font: 40px system-ui'>iiii</p><p id=b style='font: 40px monospace'>iiii</p>")
        widths = page.evaluate("""['a', 'b'].map((id) => {
            const range = document.createRange();
            range.selectNodeContents(document.getElementById(id));
            return range.getBoundingClientRect().width;
        })""")
    assert 0 < widths[0] < widths[1]  # a proportional one and one of equal widths
