"""The moving picture: one HTML file that opens without a network and plays the run."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.errors import MissingExtraError
from trundle.records.whole import write_bytes
from trundle.report.meshes import MeshPart, arrow_mesh
from trundle.report.staging import FIELD_OF_VIEW, Stage, turned_from_z
from trundle.report.style import unbroken

if TYPE_CHECKING:
    from viser import MeshHandle, SceneApi, SceneNodeHandle, ViserServer

Array = NDArray[np.float64]


def write_viewer(stage: Stage, path: str | Path, notice: str = "") -> Path:
    """Write the moving picture of a stage to `path`, one self-contained HTML file.

    Parameters
    ----------
    stage : Stage
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
    page = render(stage)
    if notice:
        page = with_notice(page, notice)
    return write_bytes(path, page.encode())


def with_notice(page: str, notice: str) -> str:
    """Return the page with what a licence asks to go wherever the shapes go: in its corner, opened by a click."""
    style = "position:fixed;left:8px;bottom:52px;z-index:99;max-height:60vh;overflow:auto;padding:2px 6px;"
    style += "background:rgba(255,255,255,0.85);color:#333;font:11px sans-serif"
    text = html.escape(notice.strip())
    box = f'<details style="{style}"><summary>Licence of the meshes</summary><pre>{text}</pre></details>'
    before, end, after = page.rpartition("</body>")
    return f"{before}{box}\n{end}{after}" if end else f"{page}\n{box}\n"


def render(stage: Stage) -> str:
    """Return the HTML page of a stage.

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
    # The server is only the way to viser's recorder: bound to this machine, stopped before this function returns.
    # It announces itself and its end through rich, whose buffers are of one thread each, here and in the server's:
    # stdout belongs to the caller.
    console = rich.get_console()
    with console.capture():
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        server.get_event_loop().call_soon_threadsafe(console.__enter__)
        try:
            return _record(server, stage)
        finally:
            server.stop()


def _record(server: ViserServer, stage: Stage) -> str:
    scene = server.scene
    scene.set_up_direction("+z")
    # No environment map: plain lights keep the file small and the picture quiet.
    scene.configure_environment_map(hdri=None)
    scene.world_axes.visible = False
    scene.add_light_ambient("/ambient", intensity=1.4)
    scene.add_light_directional("/front", intensity=1.2, position=tuple(stage.camera), cast_shadow=False)
    server.initial_camera.position = tuple(stage.camera)
    server.initial_camera.look_at = tuple(stage.look_at)
    server.initial_camera.fov = FIELD_OF_VIEW
    server.initial_camera.near = 0.01 * stage.size
    updates = [_actor(scene, stage, i) for i in range(len(stage.actors))] + [_contact(scene, stage)]
    updates += [_arrow(scene, stage, f"/arrow_{i}", *arrow) for i, arrow in enumerate(stage.arrows)]
    for name, (points, colour) in enumerate(stage.paths):
        _line(scene, f"/path_{name}", points, colour, stage.size)
    for update in updates:
        update(0)
    serializer = server.get_scene_serializer()
    for k in range(1, len(stage.contact)):
        serializer.insert_sleep(stage.seconds)
        for update in updates:
            update(k)
    serializer.insert_sleep(1.0)
    return serializer.as_html()


def _actor(scene: SceneApi, stage: Stage, index: int) -> Callable[[int], None]:
    actor = stage.actors[index]
    frame = scene.add_frame(f"/{actor.name}", show_axes=False)
    for i, part in enumerate(actor.parts):
        _mesh(scene, f"/{actor.name}/part_{i}", part)
    for i, (points, colour) in enumerate(actor.lines):
        _line(scene, f"/{actor.name}/line_{i}", points, colour, stage.size)
    return _together(
        _assign(frame, "position", actor.positions),
        _assign(frame, "wxyz", actor.quaternions),
    )


def _contact(scene: SceneApi, stage: Stage) -> Callable[[int], None]:
    updates = [_force(scene, stage, "", stage.contact, stage.forces)]
    if stage.cone is not None:
        # Lines, not a sheet: opaque lines are seen through the half-transparent object, a sheet is not.
        thickness = 0.014 * stage.size
        cone = scene.add_line_segments("/cone", stage.cone.astype(np.float32), (60, 150, 70), thickness=thickness)
        updates += [_assign(cone, "position", stage.contact), _assign(cone, "wxyz", turned_from_z(stage.normals))]
    updates += [_force(scene, stage, f"_{i + 2}", *other) for i, other in enumerate(stage.others)]
    return _together(*updates)


def _force(scene: SceneApi, stage: Stage, name: str, contact: Array, forces: Array) -> Callable[[int], None]:
    """Draw a contact's point, where it ever has a force only while it has one, and its force."""
    size, red = stage.size, (197, 27, 58)
    ball = scene.add_icosphere(f"/contact{name}", radius=0.045 * size, color=red, subdivisions=2, cast_shadow=False)
    updates = [_assign(ball, "position", contact), _arrow(scene, stage, f"/force{name}", contact, forces, red)]
    if np.any(forces != 0.0) and np.any(forces == 0.0):
        updates.append(_assign(ball, "visible", np.any(forces != 0.0, axis=1)[:, None]))
    return _together(*updates)


def _arrow(
    scene: SceneApi, stage: Stage, name: str, foot: Array, forces: Array, colour: tuple[int, int, int]
) -> Callable[[int], None]:
    """Draw a force (k, 3) as an arrow from its foot (k, 3)."""
    size = stage.size
    lengths = stage.force_scale * np.linalg.norm(forces, axis=1)
    shown = lengths > 1e-3 * size
    # The frame moves and the arrow in it is scaled: when a page starts over, viser forgets to move what it scales.
    frame = scene.add_frame(name, show_axes=False)
    arrow = _mesh(scene, f"{name}/arrow", replace(arrow_mesh(0.03 * size, 0.085 * size, 0.12), colour=colour))
    scales = np.column_stack([np.ones((len(lengths), 2)), np.maximum(lengths, 1e-3 * size)])
    return _together(
        _assign(frame, "position", foot),
        _assign(frame, "wxyz", turned_from_z(forces)),
        _assign(arrow, "scale", scales),
        _assign(arrow, "visible", shown[:, None]),
    )


def _assign(handle: SceneNodeHandle, name: str, values: Array) -> Callable[[int], None]:
    """Return what sets an attribute to row k of `values`, where that differs from the row before: messages are dear."""
    size = float(np.max(np.abs(values))) or 1.0
    # Round-off is no motion; a drift below it adds up to nothing that is seen.
    new = np.concatenate([[True], np.any(np.abs(np.diff(values.astype(float), axis=0)) > 1e-7 * size, axis=1)])
    rows = [bool(row[0]) if row.size == 1 else tuple(row.tolist()) for row in values]

    def update(k: int) -> None:
        if new[k]:
            setattr(handle, name, rows[k])

    return update


def _together(*updates: Callable[[int], None]) -> Callable[[int], None]:
    def update(k: int) -> None:
        for one in updates:
            one(k)

    return update


def _mesh(scene: SceneApi, name: str, part: MeshPart) -> MeshHandle:
    return scene.add_mesh_simple(
        name,
        part.vertices.astype(np.float32),
        part.faces.astype(np.uint32),
        color=part.colour,
        opacity=part.opacity,
        side="double" if part.double else "front",
        flat_shading=part.sharp,
        cast_shadow=part.opacity is None,
    )


def _line(scene: SceneApi, name: str, points: Array, colour: tuple[int, int, int], size: float) -> None:
    segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)[unbroken(points)]
    scene.add_line_segments(name, segments, colour, thickness=0.03 * size)
