"""A headless Chromium driven by its debugging protocol, without a network."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0",
    "--no-first-run",
    # No name is resolved and nothing but this machine is reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Tab:
    """A page: what it runs, and what it said."""

    def __init__(self, socket) -> None:
        self._socket, self._count = socket, 0
        self.errors: list[str] = []
        self.asked: list[str] = []
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given):
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": given}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer["method"], answer["params"])

    def _note(self, method: str, told: dict) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.errors.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(str(told["entry"]))
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def run(self, script: str):
        """Evaluate an expression, awaited, and return its value."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 40.0) -> None:
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"not within {seconds} s: {condition}; {self.errors}"
            time.sleep(0.05)

    def open(self, address: str, width: int, height: int) -> None:
        """Open a page of trundle and wait until it plays."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        self.until("typeof trundle === 'object'")

    def picture(self) -> bytes:
        """Return the page as PNG, drawn after two more frames."""
        self.run(
            "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 250))"
        )
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])


@contextmanager
def chromium(folder: Path) -> Iterator[Tab]:
    """Start Chromium with its profile in a folder; a test is skipped where there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on the path: the page is not tried in a browser")
    connect = pytest.importorskip("websockets.sync.client").connect
    command = [found, *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = folder / "DevToolsActivePort"
        end = time.monotonic() + 60
        while not (port.is_file() and len(port.read_text().split()) == 2):
            assert process.poll() is None, "Chromium does not start"
            assert time.monotonic() < end, "Chromium does not start"
            time.sleep(0.05)
        with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json") as answer:
            tab = next(one for one in json.load(answer) if one["type"] == "page")
        with connect(tab["webSocketDebuggerUrl"], max_size=None) as socket:
            yield Tab(socket)
    finally:
        process.terminate()
        process.wait()
