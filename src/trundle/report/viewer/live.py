"""The page of a run served to this machine alone, while the run is made and after."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

_HOST = "127.0.0.1"
_GONE = 3.0  # s without a question: nobody waits for the page any more
_WAITING = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>trundle</title>
<link rel="icon" href="data:,"></head>
<body style="font:16px system-ui,sans-serif;color:#22303c;margin:3em">
<p id="what">starting</p><progress id="share" value="0"></progress>
<p id="how">The motion is shown as soon as some of it is recorded: from the start on of what `simulate` computes,
of plans and of trials in other simulators when a part is done.</p>
<iframe id="motion" title="motion so far" style="border:0;width:100%;height:80vh" hidden></iframe>
<script>
let seen = 0;
const one = (id) => document.getElementById(id), motion = one("motion");
setInterval(async () => {
  const state = await (await fetch("/state")).json().catch(() => ({}));
  if (state.ready) location.reload();
  one("what").textContent = state.what ?? "";
  one("share").value = state.share ?? 0;
  if (!(state.motion > seen)) return;
  const at = motion.contentWindow?.trundle?.time ?? 0;
  motion.onload = async () => {
    while (!motion.contentWindow.trundle) await new Promise((done) => setTimeout(done, 50));
    motion.contentWindow.trundle.seek(at);
    motion.contentWindow.trundle.play(true);
  };
  seen = state.motion;
  motion.src = `/motion?${seen}`;
  one("how").hidden = !(motion.hidden = false);
}, 400);
</script></body></html>
"""


class LivePage:
    """A server on loopback: until `show` a page that says how far a run is, then the run's own.

    Within a ``with`` statement; at its end whoever waits for the page still gets it.

    Parameters
    ----------
    port : int
        0: any that is free.

    Examples
    --------
    >>> import urllib.request
    >>> with LivePage() as page:
    ...     page.show(lambda: b"<p>done</p>")
    ...     urllib.request.urlopen(page.address).read()
    b'<p>done</p>'
    """

    def __init__(self, port: int = 0) -> None:
        self._state: tuple[str, float] = ("", 0.0)
        self._page: Callable[[], bytes] | None = None
        self._motion, self._motions = b"", 0
        self._asked, self._given = -float("inf"), False
        self._server = ThreadingHTTPServer((_HOST, port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{_HOST}:{self._server.server_address[1]}/"

    def tell(self, what: str, share: float) -> None:
        """Say what is going on and the share of it that is done."""
        self._state = (what, share)

    @property
    def waited_for(self) -> bool:
        """Whether a browser waits for the page."""
        return time.monotonic() - self._asked < _GONE

    def move(self, page: bytes) -> None:
        """Show a page of the motion so far below what is said."""
        self._motion, self._motions = page, self._motions + 1

    def show(self, page: Callable[[], bytes]) -> None:
        """Serve the page that the function returns, from now on."""
        self._page = page

    def __enter__(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving; first give the page to whoever waits for it."""
        while kind is None and self._page and not self._given and self.waited_for:
            time.sleep(0.05)
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str) -> tuple[str, bytes]:
        if path == "/state":
            self._asked = time.monotonic()
            what, share = self._state
            told = {"what": what, "share": share, "ready": bool(self._page), "motion": self._motions}
            return "application/json", json.dumps(told).encode()
        if path == "/motion":
            return "text/html; charset=utf-8", self._motion
        if self._page is None:
            self._asked = time.monotonic()
            return "text/html; charset=utf-8", _WAITING.encode()
        return "text/html; charset=utf-8", self._page()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        live = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Answer with the page, or with how far the run is, to requests for this machine's own name."""
                own = self.headers.get("Host", "").partition(":")[0] in (_HOST, "localhost")
                path = self.path.partition("?")[0]
                if not own or path not in ("/", "/state", "/motion"):  # another name for this machine is another site's
                    self.send_error(404)
                    return
                kind, content = live._answer(path)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(content)
                live._given = live._given or (path == "/" and live._page is not None)

            def log_message(self, format: str, *args: object) -> None:
                """Keep stderr to errors."""

        return Handler
