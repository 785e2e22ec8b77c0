"""The HTML report in a real browser: search, filters, folds, links, keys, light and dark, wide and narrow."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.golden import MINI, mini_report
from tests.webdriver import Browser, programs
from timing_audit.render.html import render_html

RIGHT, LEFT, ESCAPE, ENTER = "\ue014", "\ue012", "\ue00c", "\ue007"

pytestmark = pytest.mark.skipif(programs() is None, reason="chromium and chromedriver are not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    found = programs()
    assert found is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    window = Browser(*found, port)
    yield window
    window.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of the mini engine."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render_html(mini_report(), lambda path: (MINI / "python" / path).read_text(encoding="utf-8")))
    return file.as_uri()


@pytest.fixture
def page(browser: Browser, url: str) -> Browser:
    """The report, just opened in a wide window."""
    browser.size(1300, 900)
    browser.open(url)
    return browser


def names(page: Browser) -> list[str]:
    return page.texts("#tree .name")


def test_search_shows_what_fits_and_what_leads_there(page: Browser) -> None:
    before = names(page)
    page.type("#q", "DRAFT_FORWARD")

    fitting = page.texts("#tree .row:not(.other) .name")
    assert fitting
    assert all("draft_forward" in name for name in fitting)
    assert page.texts("#tree .row.other .name"), "the callers lead there"
    assert page.texts("#count") == [f"{len(fitting)} functions"]

    page.press(ESCAPE)
    page.run("return new Promise((done) => setTimeout(done, 50))")
    assert names(page) == before


def test_filters_of_coverage_and_stage(page: Browser) -> None:
    page.open(page.run("return location.href.split('#')[0]") + "#only=timed&stage=draft")

    fitting = page.texts("#tree .row:not(.other) .name")
    assert "EagleDraftWorker.draft" in fitting
    assert "EAGLEWorker.draft" not in fitting, "nothing times it"
    assert all("draft" in row for row in page.texts("#tree .row:not(.other)"))


def test_rows_fold_by_mouse_and_by_keyboard(page: Browser) -> None:
    before = names(page)
    page.click("#tree .row .twist")
    assert len(names(page)) < len(before)

    page.click("#tree .row .name")
    page.run("document.getElementById('tree').focus()")
    page.press(RIGHT)
    assert names(page) == before
    page.press(LEFT)
    assert len(names(page)) < len(before)


def test_a_function_shows_its_lines_timed_and_untimed(page: Browser) -> None:
    page.type("#q", "EAGLEWorkerV2.forward_batch_generation")
    page.press(ENTER)

    assert page.texts("#panel h3") == ["EAGLEWorkerV2.forward_batch_generation"]
    timed, untimed = page.texts("#panel tr.l-trace"), page.texts("#panel tr.l-no")
    assert any("self.draft_worker.draft(batch)" in line for line in timed)
    assert any("self.verify(batch)" in line for line in untimed)
    assert all("self.verify(batch)" not in line for line in timed)


def test_links_lead_to_callers_callees_and_stages(page: Browser) -> None:
    page.type("#q", "EAGLEWorkerV2.verify")
    page.press(ENTER)
    page.click("#panel dd a")
    assert page.texts("#panel h3") == ["EAGLEWorkerV2.forward_batch_generation"]
    assert "f=" in page.run("return location.hash")

    page.click(".card a[href*='worker=EAGLEWorkerV2']")
    page.run("return new Promise((done) => setTimeout(done, 100))")
    assert page.run("return document.getElementById('stage').value") == "draft"
    assert page.run("return document.getElementById('worker').value") == "EAGLEWorkerV2"
    assert "EagleDraftWorker.draft" in page.texts("#tree .row:not(.other) .name")


def test_an_address_brings_back_the_same_view(page: Browser) -> None:
    page.type("#q", "verify")
    page.press(ENTER)
    address, chosen, rows = page.run("return location.href"), page.texts("#panel h3"), names(page)

    page.open(address)

    assert (page.texts("#panel h3"), names(page)) == (chosen, rows)


def test_keys_work_without_a_mouse(page: Browser) -> None:
    page.press("/")
    assert page.run("return document.activeElement.id") == "q"
    page.press(ESCAPE)
    page.press("j")
    first = page.texts("#panel h3")
    page.press("j")
    assert page.texts("#panel h3") != first
    page.press("k")
    assert page.texts("#panel h3") == first
    page.press("u")
    assert page.run("return document.getElementById('only').value") == "untimed"
    theme = page.run("return document.documentElement.dataset.theme")
    page.press("d")
    assert page.run("return document.documentElement.dataset.theme") != theme


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 520])
def test_nothing_sticks_out_of_the_window(page: Browser, theme: str, width: int, url: str) -> None:
    page.size(width, 900)
    page.open(f"{url}#theme={theme}&q=verify&f=none")
    page.type("#q", "")
    page.press(ENTER)

    assert page.run("return document.documentElement.dataset.theme") == theme
    assert page.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_it_asks_nobody_for_anything(page: Browser) -> None:
    assert page.run("return performance.getEntriesByType('resource').length") == 0
