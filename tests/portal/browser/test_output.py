"""What tasks wrote, shown, followed and downloaded in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from tests.portal.browser.visitor import BEFORE_A_SITE, Visitor, renewal

if TYPE_CHECKING:
    from demo.site import Site

pytestmark = BEFORE_A_SITE


def test_what_a_task_wrote_is_downloaded(visitor: Visitor) -> None:
    page = visitor.go("/tasks/3")
    with page.expect_download() as found:
        page.click("text=Download out.0")
    assert found.value.suggested_filename == "3.out.0"
    assert Path(found.value.path()).read_text() == "working on 0\n"


def test_30_megabytes_of_output_are_read_by_parts_and_downloaded_whole(visitor: Visitor, busy: Site) -> None:
    count = 2_300_000
    with busy.client() as client:
        task = client.submit(TaskRequest(command=("/usr/bin/seq", "-f", "line %08.0f", str(count)))).id
        client.wait([task], timeout=120)
        page = visitor.go(f"/tasks/{task}")
        assert page.inner_text("pre[aria-label='out.0']").rstrip().endswith(f"line {count:08}")
        page.click("text=Read what stands before")
        page.wait_for_url(f"**/tasks/{task}/output/out?rank=0")
        last = page.inner_text("pre").split("\n")[0]
        page.click("a:text-is('Earlier') >> nth=0")
        page.wait_for_url("**end=*")
        assert int(page.inner_text("pre").rstrip().split("\n")[-1].split()[1]) == int(last.split()[1]) - 1
        assert visitor.faults() == []
        page.click("a:text-is('Beginning') >> nth=0")
        page.wait_for_selector("pre >> text=line 00000001")
        with page.expect_download() as found:
            page.click("text=Download all")
        content = Path(found.value.path()).read_text()
        assert len(content) == 14 * count > 30 << 20
        assert content.endswith(f"line {count:08}\n")


def test_what_a_task_wrote_is_shown_while_it_runs(visitor: Visitor) -> None:
    page = visitor.go("/tasks/3")
    page.wait_for_selector("pre >> text=working on 0")
    assert "oh" in page.inner_text("pre[aria-label='err.0']")


def test_a_failed_task_opens_with_why_and_its_last_errors(visitor: Visitor, busy: Site) -> None:
    steps = "for n in $(seq 9); do printf 'step %s\\r' $n >&2; done"
    said = f"{steps}; printf '\\n\\033[31mno such mesh\\033[0m\\n' >&2; exit 3"
    with busy.client() as client:
        task = client.submit(TaskRequest(command=("/bin/sh", "-c", said))).id
        client.wait([task], timeout=240)
        page = visitor.go(f"/tasks/{task}")
        assert page.inner_text(".failure h2") == "Exit code 3"
        assert page.inner_text(".failure pre") == "step 9\nno such mesh"
        assert page.inner_text(".lead").count("exit code") == 0
        assert visitor.faults() == []


def test_what_a_task_writes_is_followed_at_its_end_until_one_scrolls(visitor: Visitor, busy: Site) -> None:
    long = "for n in $(seq 300); do echo line $n; done; sleep 6000"
    with busy.client() as client:
        task = client.submit(TaskRequest(command=("/bin/sh", "-c", long))).id
        page = visitor.go(f"/tasks/{task}")
        page.wait_for_selector("pre >> text=line 300")
        left = "each => each.scrollHeight - each.clientHeight - each.scrollTop"
        box = page.locator("pre[aria-label='out.0']")
        assert box.evaluate(left) <= 1
        box.evaluate("each => { each.scrollTop = 7; }")
        with renewal(page, "head"):
            client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
        assert box.evaluate("each => each.scrollTop") == 7
        client.cancel(task)
