"""The chart of the schedule under mouse, wheel, keys and fingers, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from tests.portal.browser.visitor import BEFORE_A_SITE, PHONE, Visitor, renewal, tab_to, visiting, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from demo.site import Site

pytestmark = BEFORE_A_SITE


def test_the_chart_is_walked_with_arrows(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    tab_to(page, "[data-gantt]")
    page.keyboard.press("ArrowRight")
    first = page.locator("path.chosen").get_attribute("data-task")
    assert page.locator(".tip").is_visible()
    page.keyboard.press("ArrowRight")
    second = page.locator("path.chosen").get_attribute("data-task")
    assert first != second
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tasks/{second}")


def test_the_chart_tells_what_is_pointed_at_and_opens_it(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    bar = page.locator("path.running").first
    task = bar.get_attribute("data-task")
    bar.hover(force=True)
    assert "runs on 1 host" in page.inner_text(".tip")
    bar.click(force=True)
    page.wait_for_url(f"**/tasks/{task}")


def test_the_chosen_task_stays_chosen_while_other_parts_of_the_page_are_renewed(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/schedule")
    tab_to(page, "[data-gantt]")
    page.keyboard.press("ArrowRight")
    task = page.locator("path.chosen").get_attribute("data-task")
    with renewal(page, "state"), renewal(page, "chart"), busy.client() as client:
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
    assert page.locator("path.chosen").get_attribute("data-task") == task
    assert page.locator(".tip").is_visible()


def test_a_tooltip_under_the_pointer_survives_a_new_chart(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/schedule")
    page.locator("path.running").first.hover(force=True)
    with renewal(page, "chart"), busy.client() as client:
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
    assert page.locator(".tip").is_visible()
    assert "runs on 1 host" in page.inner_text(".tip")


def test_a_stroke_over_the_chart_looks_closer_and_a_key_shows_all_again(visitor: Visitor) -> None:
    page = visitor.go("/schedule?span=1h")
    box = page.locator(".gantt .ground").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 30)
    assert float(page.locator(".gantt .stroke").get_attribute("width") or 0) > 100
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 30)
    page.mouse.up()
    wait_until(page, lambda: 890 < seen_seconds(page) < 910)
    assert "/schedule?from=" in page.url  # and no task was opened
    page.wait_for_selector("text=These hours stand still")
    assert visitor.faults() == []
    page.focus("[data-gantt]")
    page.keyboard.press("0")
    page.wait_for_selector("text=These hours stand still", state="detached")
    assert page.url.endswith("/schedule")
    wait_until(page, lambda: seen_seconds(page) > 1000)


def test_wheel_and_keys_move_and_widen_the_time_that_is_seen(visitor: Visitor) -> None:
    page = visitor.go("/schedule?span=1h")
    page.locator(".gantt .ground").hover(force=True)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    wait_until(page, lambda: 2000 < seen_seconds(page) < 3000)
    closer = seen_seconds(page)
    page.focus("[data-gantt]")
    page.keyboard.press("-")
    wait_until(page, lambda: abs(seen_seconds(page) - 2 * closer) < 2)
    left = "each => Number(each.dataset.from)"
    before = page.locator("[data-gantt]").evaluate(left)
    page.keyboard.press("Shift+ArrowRight")
    wait_until(page, lambda: abs(page.locator("[data-gantt]").evaluate(left) - before - closer / 2) < 2)


def test_two_fingers_look_closer(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy, viewport=PHONE, has_touch=True, is_mobile=True) as visitor:
        page = visitor.go("/schedule?span=1h")
        box = page.locator(".gantt .ground").bounding_box()
        assert box is not None
        y, middle = box["y"] + 20, 180.0
        session = page.context.new_cdp_session(page)

        def touch(kind: str, *places: float) -> None:
            points = [{"x": x, "y": y, "id": number} for number, x in enumerate(places)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", middle - 30, middle + 30)
        for step in range(1, 7):
            touch("touchMove", middle - 30 - 10 * step, middle + 30 + 10 * step)
        touch("touchEnd")
        wait_until(page, lambda: seen_seconds(page) < 2000)
        assert visitor.complaints == []


def test_tasks_stand_out_and_are_coloured_by_choice(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    bars = page.locator("path[data-task]")
    assert page.locator("path.dim").count() == 0
    page.select_option("#show", "application:fft")
    page.wait_for_selector("path.dim", state="attached")
    assert page.locator("path[data-task].dim").count() == bars.count() - 1
    assert "show=application%3Afft" in page.url
    page.select_option("#colour", "slack")
    page.wait_for_selector("path.slack-time:not(.past)", state="attached")
    assert page.locator(".legend >> text=no deadline").count() == 1
    assert visitor.faults() == []
    page.click(".tabs a:text-is('1h')")
    page.wait_for_url("**/schedule?show=application%3Afft&colour=slack&span=1h")


def seen_seconds(page: Page) -> float:
    """Return how much time the chart shows."""
    return float(page.locator("[data-gantt]").evaluate("each => each.dataset.to - each.dataset.from"))
