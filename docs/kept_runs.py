"""Runs that pages and pictures show, each made once: kept in runs/docs and used again while its scenario is the same.

Pages are executed in folders of their own; conf.py puts this module on their path.
"""

from __future__ import annotations

import hashlib
import html
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import trundle as tr

ROOT = Path(__file__).parents[1]
KEPT, VIEWERS = ROOT / "runs" / "docs", ROOT / "docs" / "_build" / "html" / "viewers"


def kept(scenario: str, *overrides: str, plots: bool = True) -> Path:
    """Return the folder of a run of a named scenario or a file of examples/; it is run where it is not there."""
    file = ROOT / "examples" / scenario
    one = tr.load_scenario(file if file.suffix == ".toml" else scenario, list(overrides))
    digest = hashlib.sha256(f"{tr.__version__} {one.resolved_toml()}".encode()).hexdigest()[:10]
    folder = KEPT / f"{one.name}-{digest}"
    if not (folder / "summary.json").is_file() or (plots and not (folder / "plots").is_dir()):
        print(f"run: {scenario} {' '.join(overrides)}", file=sys.__stderr__, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        tr.run(one, folder, plots=plots)
    return folder


def table(*folders: Path, names: Sequence[str] = ()) -> str:
    """Return a table in Markdown: metrics of runs with what was published and the limits, or those of `names` alone."""
    head, first = ["run", "figure", "published", "where", "here", "limit"], int(len(folders) == 1)  # its name is known
    rows = [head, ["---"] * len(head)]
    for folder in folders:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        for name, one in summary["metrics"].items():
            if name in names if names else one["published"] is not None or one["limit"] is not None:
                published = "" if one["published"] is None else f"{one['published']:g}"
                ours = "not computed" if one["value"] is None else f"{one['value']:.3g} {one['unit'].lstrip('1')}"
                limit = "" if one["limit"] is None else f"{one['sense']}\u00a0{one['limit']:g}"  # on one line
                rows.append([summary["scenario"], f"`{name}`", published, one["source"], ours, limit])
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row[first:]) + " |" for row in rows)


def viewer(folder: Path, height: int = 480) -> str:
    """Return HTML that embeds the viewer page of a run; a copy of the page goes beside the documentation."""
    VIEWERS.mkdir(parents=True, exist_ok=True)
    page = VIEWERS / f"{folder.name}.html"
    shutil.copy2(folder / "viewer.html", page)
    title = html.escape(f"viewer of {folder.name.rpartition('-')[0]}")
    frame = f'loading="lazy" width="100%" height="{height}" style="border: 0" title="{title}"'
    return f'<div><iframe src="../viewers/{page.name}" {frame}></iframe></div>'  # IPython warns of a bare one
