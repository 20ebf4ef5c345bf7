"""Meshes of a robot's links: opened in the robot's folders alone, read, checked and placed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.robots.humanoid import files_beside
from trundle.models.urdf.checks import CheckedUrdf, load_urdf
from trundle.models.urdf.meshes import visual_meshes

CORNERS = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]

PLY = """ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
element face 4
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 0
0 0 1
3 0 2 1
3 0 1 3
3 0 3 2
3 1 2 3
"""
DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


def stl(corners: list[tuple[float, float, float]] = CORNERS) -> bytes:
    """A tetrahedron as binary STL."""
    rows = [struct.pack("<12fH", 0, 0, 1, *(x for i in face for x in corners[i]), 0) for face in FACES]
    return bytes(80) + struct.pack("<I", len(rows)) + b"".join(rows)


def described(folder: Path, address: str, origin: str = "") -> CheckedUrdf:
    """A robot of one link in folder/urdf, its packages in the folder; its mesh is at `address`."""
    (folder / "urdf").mkdir(parents=True, exist_ok=True)
    file = folder / "urdf" / "one.urdf"
    visual = f'<visual>{origin}<geometry><mesh filename="{address}" scale="2 1 -1"/></geometry></visual>'
    file.write_text(f'<robot name="r"><link name="a">{visual}</link></robot>')
    return load_urdf(file, [folder], meshes=False)


def refused(folder: Path, address: str) -> str:
    with pytest.raises(InputError) as caught:
        visual_meshes(described(folder, address))
    text = str(caught.value)
    assert caught.value.key == "link[a].visual.mesh.filename"
    assert "one.urdf" in text
    return text


@pytest.mark.parametrize("address", ["../meshes/a.stl", "package://legs/meshes/a.stl", "package://robot/meshes/a.stl"])
def test_a_mesh_is_found_beside_the_description_or_in_a_package(tmp_path: Path, address: str) -> None:
    home = tmp_path / "robot"
    for folder in (home / "meshes", home / "legs" / "meshes"):
        folder.mkdir(parents=True)
        (folder / "a.stl").write_bytes(stl())
    (mesh,) = visual_meshes(described(home, address, '<origin xyz="0 0 5" rpy="0 0 1.5707963267948966"/>'))
    # scale (2, 1, -1), a quarter turn about z, then 5 m up
    corners = [[-1, 0, 5], [0, 0, 4], [0, 0, 5], [0, 2, 5]]
    assert np.unique(mesh.vertices.round(9), axis=0).tolist() == corners
    assert mesh.faces.shape == (4, 3)


OUTSIDE = ["file://{}/secret.stl", "{}/secret.stl", "../../secret.stl", "leak.stl"]
OUTSIDE += [f"package://{place}/secret.stl" for place in ("..", "x//{}", "x/../..")]


@pytest.mark.parametrize("address", OUTSIDE)
def test_no_mesh_outside_the_robots_folder_is_opened(tmp_path: Path, address: str) -> None:
    (tmp_path / "secret.stl").write_bytes(stl())
    home = tmp_path / "robot"
    (home / "urdf").mkdir(parents=True)
    (home / "urdf" / "leak.stl").symlink_to(tmp_path / "secret.stl")
    assert "a file in the description's folder" in refused(home, address.format(tmp_path))


def test_an_absolute_address_is_refused_even_inside_as_a_copy_would_not_find_it(tmp_path: Path) -> None:
    (tmp_path / "a.stl").write_bytes(stl())
    assert "by a relative name" in refused(tmp_path, f"file://{tmp_path}/a.stl")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    assert "file name too long" in refused(tmp_path, "9" * 5000 + ".stl")


def test_a_mesh_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert visual_meshes(described(tmp_path, "package://legs/nowhere.stl")) == []


NAN_OBJ = b"v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", b""),
        ("a.stl", b"solid"),
        ("a.stl", stl()[:-20]),
        ("a.stl", bytes(80) + struct.pack("<I", 2**31) + bytes(50)),
        ("a.stl", stl([(float("inf"), 0.0, 0.0), *CORNERS[1:]])),
        ("a.obj", NAN_OBJ),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"),
        ("a.obj", b"v 0 0 0\n"),
        ("a.dae", b"<COLLADA/>"),
        ("a.dae", b"<not xml"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 1000000000000\nend_header\n"),
        ("a.ply", PLY.encode().rpartition(b"3 1 2 3")[0]),
        ("a.dae", DAE.replace("0 0 0 1", "0 0 nan 1").encode()),
        ("a.step", b"ISO-10303-21;"),
    ],
)  # fmt: skip
def test_a_broken_mesh_is_refused_by_its_name(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "urdf" / name).write_bytes(content)
    assert name in refused(tmp_path, name)


def test_a_robots_file_names_its_description_and_its_meshes(tmp_path: Path) -> None:
    described(tmp_path, "../meshes/a.stl")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_bytes(stl())
    robot = tmp_path / "mine.toml"
    robot.write_text('[robot]\nurdf = "urdf/one.urdf"\n')
    assert files_beside(robot) == ("urdf/one.urdf", "meshes/a.stl")
    robot.write_text('[robot]\nurdf = "../one.urdf"\n')
    assert files_beside(robot) == ()
