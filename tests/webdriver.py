"""A browser without a head, as far as the tests of the HTML report need one: chromedriver's HTTP, nothing installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


def programs() -> tuple[str, str] | None:
    """The driver and the browser; None where one is not installed."""
    driver, browser = shutil.which("chromedriver"), next(filter(None, map(shutil.which, CHROMIUM)), None)
    return (driver, browser) if driver and browser else None


class Browser:
    """One window."""

    def __init__(self, driver: str, browser: str, port: int) -> None:
        self._process = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._base = f"http://127.0.0.1:{port}"
        self._wait_for_driver()
        options = {"binary": browser, "args": list(ARGUMENTS)}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self._base += f"/session/{self._ask('POST', '/session', wanted)['sessionId']}"

    def _wait_for_driver(self) -> None:
        deadline = time.monotonic() + 20
        while not self._answers():
            if time.monotonic() > deadline:
                raise TimeoutError("chromedriver does not answer")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            self._ask("GET", "/status")
        except URLError:
            return False
        return True

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        with urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def close(self) -> None:
        """Ends browser and driver."""
        try:
            self._ask("DELETE", "")
        finally:
            self._process.terminate()
            self._process.wait(10)

    def size(self, width: int, height: int) -> None:
        """Sets the window's size."""
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def open(self, url: str) -> None:
        """Loads a page of the report and waits until its data is there."""
        self._ask("POST", "/url", {"url": "about:blank"})
        self._ask("POST", "/url", {"url": url})
        for _ in range(100):
            if self.run("return document.body.dataset.ready") == "yes":
                return
            time.sleep(0.1)
        raise TimeoutError(f"{url} does not get ready")

    def run(self, script: str, *arguments: object) -> Any:
        """The result of a piece of JavaScript."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        """Clicks where the user would: fails if something lies over it."""
        self._ask("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, keys: str) -> None:
        """Types into an element."""
        self._ask("POST", f"/element/{self._find(selector)}/value", {"text": keys})

    def press(self, key: str) -> None:
        """Presses a key wherever the focus is."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that fit."""
        script = "return [...document.querySelectorAll(arguments[0])].map((found) => found.textContent)"
        found = self.run(script, selector)
        assert isinstance(found, list)
        return found

    def screenshot(self, path: Path) -> None:
        """What the window shows, as PNG."""
        from base64 import b64decode

        path.write_bytes(b64decode(self._ask("GET", "/screenshot")))

    def _find(self, selector: str) -> str:
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return str(found[ELEMENT])
