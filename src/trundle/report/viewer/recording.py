"""The scene of a page: viser's nodes for what stages hold, and the tracks of what moves in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.report.meshes import Colour, MeshPart, arrow_mesh
from trundle.report.staging import FIELD_OF_VIEW, Stage, continuous, turned_from_z
from trundle.report.style import unbroken
from trundle.report.viewer.motion import Track

if TYPE_CHECKING:
    from viser import MeshHandle, SceneApi, SceneNodeHandle, ViserServer

Array = NDArray[np.float64]
_RED, _GREEN, _INK = (197, 27, 58), (60, 150, 70), (34, 48, 60)


@dataclass(frozen=True)
class Row:
    """A row of the legend: the frame `node` carries all it stands for; `kind` is "front", "ghost" or empty."""

    label: str
    colour: Colour
    node: str
    kind: str
    shown: bool = True


def record(server: ViserServer, stages: Mapping[str, Stage]) -> dict[str, Recorder]:
    """Draw the first frame of every stage, each below a frame of its own, and return what moves."""
    first, scene = next(iter(stages.values())), server.scene
    scene.set_up_direction("+z")
    # No environment map: plain lights keep the file small and the picture quiet. No shadows: theirs end on the floor.
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False)
    scene.world_axes.visible = False
    scene.add_light_ambient("/ambient", intensity=1.9)
    for name, way, strength in (("key", (0.35, -0.6, 0.75), 2.0), ("fill", (-0.8, 0.3, 0.5), 0.9)):
        scene.add_light_directional(f"/{name}", intensity=strength, position=way, cast_shadow=False)
    server.initial_camera.position = tuple(first.camera)
    server.initial_camera.look_at = tuple(first.look_at)
    server.initial_camera.fov = FIELD_OF_VIEW
    server.initial_camera.near = 0.02 * min(stage.size for stage in stages.values())
    return {name: Recorder(scene, f"/part_{i}", stage) for i, (name, stage) in enumerate(stages.items())}


class Recorder:
    """The nodes of one stage, its legend and its tracks.

    Parameters
    ----------
    scene : viser.SceneApi
    root : str
        The frame under which all nodes lie.
    stage : Stage
    """

    def __init__(self, scene: SceneApi, root: str, stage: Stage) -> None:
        self.rows: dict[str, Row] = {}
        self.tracks: list[Track] = []
        self.root = root
        self._scene, self._stage = scene, stage
        scene.add_frame(root, show_axes=False)
        for i in range(len(stage.actors)):
            self._actor(i)
        for i, line in enumerate(stage.paths):
            self._line(f"path_{i}", line)
        self._contacts()
        for i, (foot, force, colour, label) in enumerate(stage.arrows):
            self._arrow(f"{self._row(label, colour, 'front')}/arrow_{i}", foot, force, colour)
        size = stage.size
        if stage.mass_centre is not None:
            ball = self._ball(f"{self._row('centre of mass', _INK, 'front')}/centre", 0.05 * size, _INK)
            self._follow(ball, "position", stage.mass_centre)
        axes = self._row("world axes x, y, z", (226, 6, 19), "front", shown=False)
        scene.add_frame(f"{axes}/axes", axes_length=size, axes_radius=0.02 * size)

    def _row(self, label: str, colour: Colour, kind: str = "", shown: bool = True) -> str:
        """Return the frame that carries all of a row of the legend."""
        if label not in self.rows:
            node = f"{self.root}/row_{len(self.rows)}"
            self._scene.add_frame(node, show_axes=False, visible=shown)
            self.rows[label] = Row(label, colour, node, kind, shown)
        return self.rows[label].node

    def _actor(self, index: int) -> None:
        actor = self._stage.actors[index]
        row = self._row(actor.label, actor.parts[0].colour, "ghost" if actor.ghost else "")
        frame = self._scene.add_frame(f"{row}/{actor.name}", show_axes=False)
        for i, part in enumerate(actor.parts):
            self._mesh(f"{row}/{actor.name}/part_{i}", part)
        places = (("position", actor.positions), ("wxyz", continuous(actor.quaternions)))
        for attribute, values in places:
            self._follow(frame, attribute, values)
        if actor.shown is not None:
            self._follow(frame, "visible", actor.shown[:, None].astype(float))
        for i, line in enumerate(actor.lines):
            carrier = self._scene.add_frame(f"{self._row(line[2], line[1])}/{actor.name}_{i}", show_axes=False)
            for attribute, values in places:
                self._follow(carrier, attribute, values)
            self._line(f"{actor.name}_{i}/line", line)

    def _contacts(self) -> None:
        stage = self._stage
        if stage.cone is not None:
            row = self._row("friction cone", _GREEN, "front")
            lines = stage.cone.astype(np.float32)
            cone = self._scene.add_line_segments(f"{row}/cone", lines, _GREEN, thickness=0.014 * stage.size)
            self._follow(cone, "position", stage.contact)
            self._follow(cone, "wxyz", continuous(turned_from_z(stage.normals)))
            self._follow(cone, "visible", np.any(stage.forces != 0.0, axis=1)[:, None].astype(float))
        for i, (point, force) in enumerate([(stage.contact, stage.forces), *stage.others]):
            if np.any(force != 0.0):
                self._force(f"_{i}", point, force)

    def _force(self, name: str, contact: Array, force: Array) -> None:
        """Draw a contact's point, while it has a force, and its force."""
        row = self._row("contact force", _RED, "front")
        ball = self._ball(f"{row}/contact{name}", 0.035 * self._stage.size, _RED)
        self._follow(ball, "position", contact)
        self._follow(ball, "visible", np.any(force != 0.0, axis=1)[:, None].astype(float))
        self._arrow(f"{row}/force{name}", contact, force, _RED)

    def _arrow(self, name: str, foot: Array, forces: Array, colour: Colour) -> None:
        """Draw a force (k, 3) as an arrow from its foot (k, 3)."""
        size = self._stage.size
        lengths = self._stage.force_scale * np.linalg.norm(forces, axis=1)
        frame = self._scene.add_frame(name, show_axes=False)
        arrow = self._mesh(f"{name}/arrow", replace(arrow_mesh(0.03 * size, 0.085 * size, 0.12), colour=colour))
        scales = np.column_stack([np.ones((len(lengths), 2)), np.maximum(lengths, 1e-3 * size)])
        self._follow(frame, "position", foot)
        self._follow(frame, "wxyz", continuous(turned_from_z(forces)))
        self._follow(arrow, "scale", scales)
        self._follow(arrow, "visible", (lengths > 1e-3 * size)[:, None].astype(float))

    def _follow(self, handle: SceneNodeHandle, attribute: str, values: Array) -> None:
        """Set an attribute to its first row of (k, n), and let the page set the others if any differs."""
        first = values[0].tolist()
        setattr(handle, attribute, bool(first[0]) if attribute == "visible" else tuple(first))
        # Round-off is no motion.
        if np.any(np.ptp(values, axis=0) > 1e-7 * (float(np.max(np.abs(values))) or 1.0)):
            self.tracks.append(Track(handle.name, attribute, values))

    def _ball(self, name: str, radius: float, colour: Colour) -> SceneNodeHandle:
        return self._scene.add_icosphere(name, radius=radius, color=colour, subdivisions=2, cast_shadow=False)

    def _mesh(self, name: str, part: MeshPart) -> MeshHandle:
        return self._scene.add_mesh_simple(
            name,
            part.vertices.astype(np.float32),
            part.faces.astype(np.uint32),
            color=part.colour,
            opacity=part.opacity,
            side="double" if part.double else "front",
            flat_shading=part.sharp,
            cast_shadow=False,
            receive_shadow=False,
        )

    def _line(self, name: str, line: tuple[Array, Colour, str]) -> None:
        points, colour, label = line
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)[unbroken(points)]
        where = f"{self._row(label, colour)}/{name}"
        self._scene.add_line_segments(where, segments, colour, thickness=0.03 * self._stage.size)
