"""Chromium without a window, driven over its DevTools protocol: pages as pixels, clicks, and what pages complain of."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--no-first-run --disable-background-networking --disable-component-update --disable-sync "
    "--disable-quic --hide-scrollbars --remote-debugging-port=0"
)
SECONDS = 180.0
"""How long anything is waited for."""


class Browser:
    """One page; `go` opens an address in it."""

    def __init__(self, program: str, home: Path, width: int = 700, height: int = 320) -> None:
        from websockets.sync.client import connect  # comes with viser, an extra

        command = [program, *FLAGS.split(), f"--user-data-dir={home}", "about:blank"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        told = home / "DevToolsActivePort"
        until(lambda: told.is_file() and "\n" in told.read_text())
        with urllib.request.urlopen(
            f"http://127.0.0.1:{told.read_text().split()[0]}/json"
        ) as reply:
            page = next(tab for tab in json.load(reply) if tab["type"] == "page")
        self.socket = connect(page["webSocketDebuggerUrl"], max_size=None)
        self.events: list[dict[str, Any]] = []
        self.count = 0
        for part in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{part}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def send(self, method: str, **options: Any) -> dict[str, Any]:
        """What the browser answers; events before that are kept."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": options}))
        while True:
            message = json.loads(self.socket.recv(timeout=SECONDS))
            if message.get("id") == self.count:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def go(self, address: str) -> None:
        """Opens an address, and forgets what happened before."""
        self.events.clear()
        self.send("Page.navigate", url=address)
        until(lambda: self.run("document.readyState") == "complete")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self) -> np.ndarray:
        """Red, green and blue of what is seen (height, width, 3), from 0 to 1."""
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        return matplotlib.image.imread(io.BytesIO(data))[..., :3]

    def press(self, element: str, share: float = 0.5) -> None:
        """Presses the mouse on an element, given as JavaScript, at a share of its width."""
        until(lambda: self.run(f"!!({element})"))
        self.run(f"({element}).scrollIntoView({{behavior: 'instant', block: 'center'}})")
        box = f"(r => [r.x, r.y, r.width, r.height])(({element}).getBoundingClientRect())"
        x, y, w, h = self.run(box)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent", type=kind, x=x + share * w, y=y + h / 2,
                button="left", buttons=1, clickCount=1,
            )  # fmt: skip

    def complaints(self) -> list[str]:
        """Errors in the page's log."""
        self.run("0")  # what came until now is read
        found = []
        for event in self.events:
            what = event.get("params", {})
            failed = event["method"] == "Runtime.exceptionThrown"
            failed |= event["method"] == "Runtime.consoleAPICalled" and what["type"] == "error"
            failed |= event["method"] == "Log.entryAdded" and what["entry"]["level"] == "error"
            if failed:
                found.append(json.dumps(what))
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        sent = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [what["request"]["url"] for what in sent]

    def close(self) -> None:
        """Ends the browser."""
        self.send("Browser.close")
        self.socket.close()
        self.process.wait(SECONDS)


def until(true: Any) -> None:
    """Waits until a function returns something true."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser, or a skipped test where there is none."""
    pytest.importorskip("websockets", reason="websockets, which drives the browser, is missing")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed; looked for {', '.join(NAMES)}")
    found = Browser(program, tmp_path_factory.mktemp("browser"))
    yield found
    found.close()
