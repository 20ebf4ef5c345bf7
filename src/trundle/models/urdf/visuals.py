"""What a robot's description shows of its moving bodies: boxes, cylinders, spheres, capsules and meshes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray, instance
from trundle.errors import optional
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.meshes import Colour, Painted, colours, place_vertices, visual_meshes
from trundle.models.urdf.tree import UrdfTree, urdf_tree
from trundle.models.urdf.xml import number_of, numbers_of
from trundle.records import SceneBody, Trajectory

if TYPE_CHECKING:
    from trundle.models.urdf.articulated import Articulated

Mesh = tuple[FloatArray, NDArray[np.int64]]
_FACES = 2000  # of a mesh, above which its vertices are merged
_CELLS = 40  # then, along a body
_SLIM = 0.02  # radius of rods, of the length of what they hold together


def with_visuals(run: Trajectory, urdf: CheckedUrdf, meshes: bool = True, tree: UrdfTree | None = None) -> Trajectory:
    """Return the run of a robot with its links' <visual> shapes, which pictures then show in place of rods.

    Of a link without any the boxes, cylinders, capsules and spheres of <collision> are shown; for meshes that are left
    out, of a body of which other shapes are shown, rods from joint to joint. Colours are those of the
    description's <material>; textures and the colours inside a mesh's file are not read.

    Parameters
    ----------
    run : Trajectory
        Of the robot of `trundle.robot_from_urdf`.
    urdf : CheckedUrdf
        Its description.
    meshes : bool
        Whether meshes, too, are put into the run and into what is made of it: a question of their licence.
    tree : UrdfTree, optional
        The run's bodies, if they are others than those of the description.

    Raises
    ------
    InputError
        If a mesh lies outside the description's folders, or is no mesh.
    MissingExtraError
        If there is something to show and trimesh is not installed.

    Examples
    --------
    >>> from trundle.models.urdf.checks import check_urdf
    >>> shape = '<visual><geometry><box size="0.2 0.1 0.1"/></geometry></visual>'
    >>> mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    >>> urdf = check_urdf(f'<robot name="brick"><link name="brick">{shape}{mass}</link></robot>')
    >>> robot = tr.robot_from_urdf(urdf, {"sole": tr.Foot(tr.Sphere(0.05), "brick")})
    >>> run = tr.simulate(robot, robot.place(brick=(0.0, 0.0, 0.05)), 0.01)  # s
    >>> [(body.name, len(body.vertices)) for body in tr.with_visuals(run, urdf).scene if body.role == "link"]
    [('brick', 8)]
    """
    instance("urdf", urdf, CheckedUrdf, "a CheckedUrdf, as load_urdf and check_urdf return it")
    shown = {body.name: body for body in visual_bodies(urdf, meshes, tree).values()}
    kept = tuple(body for body in run.scene if body.role != "link" or body.name not in shown)
    moving = {str(name) for name in run["body"]}
    return replace(run, scene=(*kept, *(body for name, body in shown.items() if name in moving)))


def visual_bodies(urdf: CheckedUrdf, meshes: bool = True, tree: UrdfTree | None = None) -> dict[int, SceneBody]:
    """Return what is shown of the moving bodies, by their number in the tree; see `with_visuals`."""
    tree = urdf_tree(urdf) if tree is None else tree
    shapes: dict[int, list[Mesh]] = {}
    painted: dict[int, list[tuple[int, Colour | None]]] = {}
    drawn: set[str] = set()
    for link, (vertices, faces), colour in _shapes(urdf, meshes):
        number, place = tree.links[link]
        shapes.setdefault(number, []).append((vertices @ place.R.T + place.p, faces))
        painted.setdefault(number, []).append((len(faces), colour))
        drawn.add(link)
    for number, vertices, faces in _rods(ET.fromstring(urdf.text), tree, drawn):
        if number in shapes:
            shapes[number].append((vertices, faces))
            painted[number].append((len(faces), None))
    shown = {}
    for number, found in shapes.items():
        body = tree.bodies[number]
        vertices, faces = join_meshes(found)
        shape = {"colours": painted[number]} if any(colour for _, colour in painted[number]) else {}
        com = np.zeros(3) if body.inertia is None else body.inertia.com
        name = body.name.replace(".", "_")
        shown[number] = SceneBody(name, "link", vertices, faces, False, shape, com)
    return shown


def _shapes(urdf: CheckedUrdf, meshes: bool) -> Iterator[tuple[str, Mesh, Colour | None]]:
    """Yield link, triangles in the link's axes and colour of each shape."""
    found = visual_meshes(urdf) if meshes else []
    robot = ET.fromstring(urdf.text)
    painted = colours(robot)
    for link in robot.findall("link"):
        name = link.get("name", "")
        own = [(coarse(mesh.vertices, mesh.faces), mesh.colour) for mesh in found if mesh.link == name]
        own += _primitives(link, "visual", painted)
        yield from ((name, *shape) for shape in own or _primitives(link, "collision", painted))


def _rods(robot: ET.Element, tree: UrdfTree, drawn: set[str]) -> Iterator[tuple[int, FloatArray, NDArray[np.int64]]]:
    """Yield the body and the triangles of a rod for each joint on a link that has meshes and is not drawn."""
    left_out = {link.get("name", "") for link in robot.findall("link") if link.find("*/geometry/mesh") is not None}
    ends: dict[int, list[FloatArray]] = {}
    for joint in robot.findall("joint"):
        parent, child = (one.get("link", "") for tag in ("parent", "child") for one in joint.findall(tag))
        (number, place), (hung, at) = tree.links[parent], tree.links[child]
        end = at.p if hung == number else tree.bodies[hung].place.p
        if parent in left_out - drawn and np.linalg.norm(end - place.p) > 1e-3:
            ends.setdefault(number, []).append(np.array([place.p, end]))
    for number, segments in ends.items():
        radius = _SLIM * float(np.linalg.norm(np.ptp(np.concatenate(segments), axis=0)))
        for segment in segments:
            mesh = optional("trimesh", "trimesh", "robots").creation.cylinder(radius, segment=segment, sections=12)
            yield number, np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)


def _primitives(link: ET.Element, tag: str, painted: Painted) -> list[tuple[Mesh, Colour | None]]:
    shapes = [(one, shape) for one in link.findall(tag) for shape in one.findall("geometry/*") if shape.tag != "mesh"]
    made = ((one, _primitive(shape)) for one, shape in shapes)
    return [((place_vertices(vertices, one), faces), painted(one)) for one, (vertices, faces) in made]


def _primitive(shape: ET.Element) -> Mesh:
    """Return the triangles of a box, cylinder, capsule or sphere about its middle, its axis z."""
    create = optional("trimesh", "trimesh", "robots").creation
    if shape.tag == "box":
        mesh = create.box(numbers_of("size", shape.get("size"), 3))
    elif shape.tag == "sphere":
        mesh = create.icosphere(subdivisions=2, radius=number_of("radius", shape.get("radius")))
    else:
        radius, length = (number_of(key, shape.get(key)) for key in ("radius", "length"))
        make = create.cylinder if shape.tag == "cylinder" else create.capsule
        mesh = make(height=length, radius=radius)
    return np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)


def coarse(vertices: FloatArray, faces: NDArray[np.int64], cell: float | None = None) -> Mesh:
    """Return vertices (n, 3) and faces (m, 3) of a mesh, its vertices within one cell (m) merged to their mean.

    Without a cell, small meshes stay as they are and large ones get some dozens of cells along.
    """
    if cell is None:
        if len(faces) <= _FACES:
            return vertices, faces
        cell = float(np.max(np.ptp(vertices, axis=0))) / _CELLS
    _, groups = np.unique(np.round(vertices / cell).astype(np.int64), axis=0, return_inverse=True)
    groups = groups.ravel()
    merged = np.column_stack([np.bincount(groups, vertices[:, i]) for i in range(3)]) / np.bincount(groups)[:, None]
    faces = groups[faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (a != c)]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return merged, faces[np.sort(first)]


def join_meshes(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one."""
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in meshes[:-1])])
    faces = [faces + offset for (_, faces), offset in zip(meshes, offsets, strict=True)]
    return np.vstack([vertices for vertices, _ in meshes]), np.vstack(faces)


class BodyRecord(TypedDict):
    """A body for drawing: index of its parent, placement (R, p) and axis of its joint, centre of mass."""

    name: str
    parent: int
    slides: bool
    R: list[list[float]]
    p: list[float]
    axis: list[float]
    com: list[float]


def body_records(robot: Articulated) -> list[BodyRecord]:
    """Return what a picture needs of a robot's bodies beside the joints' positions."""
    keys = BodyRecord.__annotations__
    return [BodyRecord(**{key: np.asarray(getattr(body, key)).tolist() for key in keys}) for body in robot.bodies()]
