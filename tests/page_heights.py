"""Heights of built pages in headless Chromium at 1280 pixels: ``python -m tests.page_heights [FOLDER]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.report.browser import chromium

BUILT = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"


def heights(built: Path, width: int = 1280) -> dict[str, int]:
    """Return the height (pixels) of every page of the documentation but sources and indices, by its name."""
    names = sorted(p.relative_to(built).as_posix() for p in built.rglob("*.html"))
    skipped = ("_modules/", "_static/", "viewers/", "genindex", "py-modindex", "search")
    found = {}
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder)) as tab:
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        for name in names:
            if not name.startswith(skipped):
                tab.call("Page.navigate", url=(built / name).as_uri())
                tab.until(f"document.readyState === 'complete' && location.href.endsWith('{name}')")
                found[name] = int(tab.run("document.documentElement.scrollHeight"))
    return found


if __name__ == "__main__":
    built = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else BUILT
    for name, height in sorted(heights(built).items(), key=lambda one: -one[1]):
        print(f"{height:7d} {name}")
