"""The moving picture: one HTML file that opens without a network and plays the run.

viser draws: its own client, in one file, holds the first frame as a scene without motion, with its camera, lights and
meshes. What that client has not, `page.html` puts around it: name, legend, time bar, plots, views. The page moves the
scene by viser's own messages and reads the camera from what the client shows to its tests (``window.__viserMutable``);
so one bundle of three.js is enough, and none is kept here.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from trundle.errors import InputError, MissingExtraError
from trundle.records.whole import write_bytes
from trundle.report.staging import Stage
from trundle.report.viewer.motion import curves, extremes, focus, legible, pack_columns
from trundle.report.viewer.recording import Recorder, record

__all__ = ["render", "with_notice", "write_viewer"]


def write_viewer(stage: Stage | Mapping[str, Stage], path: str | Path, notice: str = "") -> Path:
    """Write the moving picture of a stage to `path`, one self-contained HTML file.

    Parameters
    ----------
    stage : Stage, or mapping of them
        Several, by name, are shown one after another or side by side.
    path : path
    notice : str
        What a licence asks to go wherever the shapes go.

    Raises
    ------
    MissingExtraError
        If the extra ``viewer`` is not installed.
    InputError
        If the folder cannot be written to.
    """
    if not isinstance(stage, Stage) and not stage:
        raise InputError("stage", stage, "a Stage, or at least one of them by name")
    page = render(stage)
    if notice:
        page = with_notice(page, notice)
    return write_bytes(path, page.encode())


def with_notice(page: str, notice: str) -> str:
    """Return the page with what a licence asks to go wherever the shapes go: in its corner, opened by a click."""
    style = (
        "position:absolute;right:8px;top:8px;z-index:99;max-height:60vh;max-width:90vw;overflow:auto;padding:2px 6px;"
    )
    style += "background:rgba(255,255,255,0.9);color:#333;font:11px sans-serif"
    text = html.escape(notice.strip())
    box = f'<details id="notice" style="{style}"><summary>Licence of the meshes</summary><pre>{text}</pre></details>'
    before, end, after = page.rpartition("</body>")
    return f"{before}{box}\n{end}{after}" if end else f"{page}\n{box}\n"


def render(stage: Stage | Mapping[str, Stage]) -> str:
    """Return the HTML page of a stage, or of several by name.

    Raises
    ------
    MissingExtraError
        If viser is not installed.
    """
    try:
        import rich
        import viser
    except ImportError:
        raise MissingExtraError("viser", "viewer") from None
    given = {"": stage} if isinstance(stage, Stage) else stage
    stages = {name: legible(one) for name, one in given.items()}
    # The server is only the way to viser's recorder: bound to this machine, stopped before this function returns.
    # It announces itself and its end through rich, whose buffers are of one thread each, here and in the server's:
    # stdout belongs to the caller.
    console = rich.get_console()
    with console.capture():
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        server.get_event_loop().call_soon_threadsafe(console.__enter__)
        try:
            recorders = record(server, stages)
            page = server.get_scene_serializer().as_html()
        finally:
            server.stop()
    return _dress_page(page, stages, recorders)


def _dress_page(page: str, stages: Mapping[str, Stage], recorders: Mapping[str, Recorder]) -> str:
    """Return viser's page with ours around it: its title, and before its end our parts and what they show."""
    columns, parts = [], []
    for name, stage in stages.items():
        recorder, strips = recorders[name], curves(stage)
        begin = len(columns)
        columns += [track.values for track in recorder.tracks] + [focus(stage)]
        columns += [values[:, None] for _, lines in strips for _, _, values in lines]
        parts.append(
            {
                "name": name or "main",
                "status": stage.status,
                "step": stage.seconds * stage.lapse,
                "frames": len(stage.contact),
                "node": recorder.root,
                "rows": [vars(row) for row in recorder.rows.values()],
                "tracks": [[track.node, track.attribute] for track in recorder.tracks],
                "first": begin,
                "seen": extremes(stage).round(5).tolist(),
                "margin": 0.1 * stage.size,
                "way": (stage.camera - stage.look_at).tolist(),
                "strips": [[title, [[line, colour] for line, colour, _ in lines]] for title, lines in strips],
            }
        )
    heads, data = pack_columns(columns)
    title = next(iter(stages.values())).title or "a run"
    told = {"title": title, "parts": parts, "heads": heads, "data": data}
    ours = files("trundle.report.viewer").joinpath("page.html").read_text(encoding="utf-8")
    ours = ours.replace("TOLD", json.dumps(told).replace("<", "\\u003c"), 1)
    before, end, after = page.rpartition("</body>")
    named = before.replace("<title>Viser</title>", f"<title>{html.escape(title)} - trundle</title>", 1)
    return f"{named}{ours}{end}{after}"
