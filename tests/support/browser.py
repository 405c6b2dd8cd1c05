"""Headless Chromium, driven over its own debugging protocol: open a page, run script, take a picture."""

from __future__ import annotations

import base64
import io
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars "
    "--use-angle=swiftshader --enable-unsafe-swiftshader --remote-debugging-port=0 --remote-allow-origins=*"
)
PATIENCE = 60.0  # seconds


def find_chromium() -> str:
    """The browser's program, or the test is skipped."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if not found:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    return found


class Browser:
    """One page in a browser of its own, with a profile that nobody else uses."""

    def __init__(self, folder: Path, width: int = 1000, height: int = 700):
        client = pytest.importorskip(
            "websockets.sync.client", reason="websockets, which viser brings, is missing"
        )
        window = f"--window-size={width},{height}"
        command = [find_chromium(), *FLAGS.split(), window, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = self._wait_for(lambda: _first_line(folder / "DevToolsActivePort"), "the browser to start")
            pages = self._wait_for(lambda: _pages(port), "the browser's first page")
            self.socket = client.connect(pages[0]["webSocketDebuggerUrl"], max_size=None)
        except BaseException:
            self.process.kill()
            raise
        self.numbers = itertools.count()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: Any) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv(timeout=PATIENCE))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        """Another size of the window, once the page has taken it."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.until(f"innerWidth === {width}")
        self.script("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))")

    def script(self, expression: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression: str) -> Any:
        return self._wait_for(lambda: self.script(expression), expression)

    def click(self, text: str) -> None:
        """Press the button with this text."""
        self.until(f"[...document.querySelectorAll('button')].some(b => b.innerText.trim() === '{text}')")
        self.script(
            f"[...document.querySelectorAll('button')].find(b => b.innerText.trim() === '{text}').click()"
        )

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Press, move or release the left button: `mousePressed`, `mouseMoved`, `mouseReleased`."""
        held = 0 if kind == "mouseReleased" else 1
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=held, clickCount=1)

    def picture(self, path: Path | None = None, whole: bool = False) -> np.ndarray:
        """What the page looks like, (height, width, 3) from 0 to 1; `whole` includes what is below."""
        data = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])
        if path:
            path.write_bytes(data)
        return np.asarray(imread(io.BytesIO(data)))[..., :3]

    def _wait_for(self, found: Any, what: str) -> Any:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = found()
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"waited {PATIENCE:g} s for {what}")


def _first_line(path: Path) -> str:
    return path.read_text().split("\n")[0] if path.exists() else ""


def _pages(port: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
        return [page for page in json.loads(answer.read()) if page["type"] == "page"]
