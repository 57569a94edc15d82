"""The explorer's page in a real browser, without a window: keys, faces, sizes, colours, files."""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.explorer.cases import Ask, case_document
from raincheck.conformance.explorer.document import Document
from raincheck.conformance.explorer.page import complete, page
from raincheck.conformance.explorer.recorded import run_document
from raincheck.conformance.explorer.server import serving

TRACES = Path(__file__).parents[1] / "traces" / "sequencer"
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="there is no chromium with its chromedriver to drive"
    ),
]

KEYS: Final = {"Home": "\ue011", "End": "\ue010", "Left": "\ue012", "Right": "\ue014"}
PATIENCE: Final = 20.0
"""Seconds after which the page is taken to be stuck."""


class Browser:
    """A browser behind its driver, which speaks WebDriver (https://www.w3.org/TR/webdriver2)."""

    def __init__(self, base: str) -> None:
        self.base = base
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        options = {"binary": CHROMIUM, "args": arguments}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options}
        wanted["goog:loggingPrefs"] = {"browser": "ALL"}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{made['sessionId']}"

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def ask(self, path: str, **body: object) -> Any:
        return self._call("POST", self.session + path, body)

    def open(self, url: str) -> None:
        self.ask("/url", url=url)

    def js(self, expression: str) -> Any:
        return self.ask("/execute/sync", script=f"return {expression}", args=[])

    def devtools(self, command: str, **params: object) -> Any:
        return self.ask("/goog/cdp/execute", cmd=command, params=params)

    def press(self, key: str) -> None:
        value = KEYS.get(key, key)
        keys = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        self.ask("/actions", actions=[{"type": "key", "id": "keys", "actions": keys}])

    def wait_for(self, expression: str, wanted: object) -> None:
        end = time.monotonic() + PATIENCE
        while (found := self.js(expression)) != wanted:
            assert time.monotonic() < end, f"{expression} is {found!r}, not {wanted!r}"

    def where(self, words: str) -> None:
        self.wait_for("document.getElementById('where').textContent", words)

    def complaints(self) -> list[str]:
        return [each["message"] for each in self.ask("/se/log", type="browser")]

    def close(self) -> None:
        self._call("DELETE", self.session)


ATTEMPTS: Final = 5
"""How often the driver is started: it gives up if somebody else takes the port that it found."""


@contextmanager
def driver() -> Iterator[str]:
    """Start the driver, and yield its address."""
    assert DRIVER is not None
    for _ in range(ATTEMPTS):
        command = [DRIVER, "--port=0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = (re.search(r"successfully on port (\d+)", line) for line in process.stdout)
            port = next((found[1] for found in told if found), None)
            try:
                if port is not None:
                    yield f"http://127.0.0.1:{port}"
                    return
            finally:
                process.terminate()
    pytest.fail(f"{DRIVER} does not start")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with driver() as base:
        made = Browser(base)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def case() -> tuple[Document, Ask]:
    (found,) = (each for each in load_cases() if each.name == "flush-join")
    return case_document(found, None)


def faces(browser: Browser) -> dict[str, int]:
    """How many lines of source each face shows."""
    found: dict[str, int] = browser.js(
        "Object.fromEntries([...document.querySelectorAll('#faces article')]"
        ".map(a => [a.dataset.face, a.querySelectorAll('pre span').length]))"
    )
    return found


def test_one_walks_by_keys_and_sees_all_faces(browser: Browser, case: tuple[Document, Ask]) -> None:
    with serving(*case) as address:
        browser.open(address)
        browser.where("Beginning of 0")
        browser.press("1")
        browser.where("Step 1 of 1")
        seen = faces(browser)
        assert seen.keys() == {"spec", "model", "code"}
        assert all(seen.values())
        assert browser.js("document.querySelectorAll('#faces .ran').length")
        assert browser.js("document.querySelectorAll('#step .ok').length") > 1
        assert browser.js("document.querySelectorAll('#step .change').length")
        browser.press("1")
        browser.where("Step 2 of 2")
        browser.press("Left")
        browser.where("Step 1 of 2")
        browser.press("Home")
        browser.where("Beginning of 2")
        browser.press("End")
        browser.where("Step 2 of 2")
        browser.js("document.getElementById('return').click()")
        browser.where("Beginning of 0")
        assert browser.complaints() == []


def test_who_is_quicker_than_the_page_stays_on_the_way(
    browser: Browser, case: tuple[Document, Ask]
) -> None:
    twice = (
        "'11'.split('').forEach(key => document.dispatchEvent(new KeyboardEvent('keydown', {key})))"
    )
    with serving(*case) as address:
        browser.open(address)
        browser.where("Beginning of 0")
        browser.js(twice)
        browser.where("Step 1 of 1")
        browser.press("1")
        browser.where("Step 2 of 2")
        assert browser.complaints() == []


def test_a_server_that_has_ended_is_said_so_and_what_was_seen_stays(
    browser: Browser, case: tuple[Document, Ask]
) -> None:
    with serving(*case) as address:
        browser.open(address)
        browser.where("Beginning of 0")
        browser.press("1")
        browser.where("Step 1 of 1")
    for _ in range(9):  # to a state that the page does not have
        browser.js("document.querySelector('#moves button:enabled')?.click()")
        if "server" in browser.js("document.getElementById('where').textContent"):
            break
        time.sleep(0.05)
    browser.where("The server has ended")
    browser.press("Home")
    browser.where("Beginning of 1")
    browser.complaints()


def test_a_state_in_the_drawing_leads_there(browser: Browser, case: tuple[Document, Ask]) -> None:
    with serving(*case) as address:
        browser.open(address)
        browser.where("Beginning of 0")
        here = "document.querySelector('#drawing .here').getAttribute('aria-label')"
        first = browser.js(here)
        browser.js(
            "[...document.querySelectorAll('#drawing a')].at(-1)"
            ".dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
        )
        browser.where("Step 2 of 2")
        assert browser.js(here) != first
        assert browser.complaints() == []


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_window(
    browser: Browser, case: tuple[Document, Ask], width: int
) -> None:
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    with serving(*case) as address:
        browser.devtools("Emulation.setDeviceMetricsOverride", **size)
        browser.open(address)
        browser.where("Beginning of 0")
        browser.press("1")
        browser.where("Step 1 of 1")
        assert browser.js("document.documentElement.scrollWidth") <= width
        browser.devtools("Emulation.clearDeviceMetricsOverride")


def test_the_colours_follow_the_system(browser: Browser, case: tuple[Document, Ask]) -> None:
    colours = []
    for wanted in ("dark", "light"):
        features = [{"name": "prefers-color-scheme", "value": wanted}]
        browser.devtools("Emulation.setEmulatedMedia", features=features)
        with serving(*case) as address:
            browser.open(address)
            colours.append(browser.js("getComputedStyle(document.body).backgroundColor"))
    browser.devtools("Emulation.setEmulatedMedia", features=[])
    assert colours == ["rgb(13, 17, 23)", "rgb(255, 255, 255)"]


def test_a_file_works_without_a_server_as_far_as_it_goes(
    browser: Browser, case: tuple[Document, Ask], tmp_path: Path
) -> None:
    to = tmp_path / "page.html"
    to.write_text(page(complete(*case, most=3)))
    browser.open(to.as_uri())
    browser.where("Beginning of 0")
    browser.press("1")
    browser.where("Step 1 of 1")
    assert all(faces(browser).values())
    known = "document.querySelectorAll('#moves button:enabled').length"
    beyond = "document.querySelectorAll('#moves button:disabled').length"
    assert browser.js(known) + browser.js(beyond) > browser.js(known)
    assert browser.complaints() == []


def test_a_recorded_run_shows_where_it_went_wrong(browser: Browser) -> None:
    document, _, ask = run_document([TRACES / "violated-seqno"])
    last = len(document.trail) - 1
    with serving(document, ask) as address:
        browser.open(address)
        browser.where(f"Beginning of {last}")
        wrong = next(at for at, stop in enumerate(document.trail) if stop.wrong)
        for step in range(wrong + 1):
            browser.press("Right")
            browser.where(f"Step {step + 1} of {last}")
        assert "seqno: expected 2" in browser.js("document.getElementById('step').textContent")
        browser.press("End")
        browser.where(f"Step {last} of {last}")
        assert browser.complaints() == []
