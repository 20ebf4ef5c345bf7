"""What a robot's description shows of its links, carried by the bodies of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.models.urdf.test_meshes import stl
from tests.report.synthetic import changed
from trundle.errors import InputError
from trundle.models.urdf.checks import check_urdf, load_urdf
from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory, load_trajectory
from trundle.report.scene import build_stage

pytest.importorskip("trimesh")

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
MASS = f'<inertial><origin xyz="0 0 0.1"/><mass value="1"/>{INERTIA}</inertial>'
PLACE = '<origin xyz="0 0 0.1" rpy="0 1.5707963267948966 0"/>'
BOX = f'<visual>{PLACE}<geometry><box size="0.4 0.1 0.2"/></geometry></visual>'
ROUND = (
    '<visual><geometry><cylinder radius="0.1" length="0.6"/></geometry></visual>'
    '<visual><origin xyz="0 0 1"/><geometry><sphere radius="0.2"/></geometry></visual>'
)
CAPSULE = '<collision><geometry><capsule radius="0.1" length="0.6"/></geometry></collision>'
MESH = '<visual><geometry><mesh filename="a.stl" scale="0.1 0.1 0.1"/></geometry></visual>'


def text(arm: str = ROUND) -> str:
    """A base with a box, and an arm on a hinge with a tool held fast to it."""
    return (
        f'<robot name="r"><link name="base">{BOX}{MASS}</link><link name="arm.1">{arm}{MASS}</link>'
        f'<link name="tool">{CAPSULE}</link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="arm.1"/><origin xyz="0 0 0.3"/>'
        '<axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
        '<joint name="held" type="fixed"><parent link="arm.1"/><child link="tool"/><origin xyz="0 0 2"/></joint>'
        "</robot>"
    )


def run_of(urdf) -> Trajectory:
    robot = tr.robot_from_urdf(urdf, {"sole": tr.Foot(tr.Sphere(0.05), "base")})
    return tr.simulate(robot, robot.place(base=(0.0, 0.0, 0.05), hinge=0.5), 0.02)


def shown(run: Trajectory) -> dict:
    return {body.name: body for body in run.scene if body.role == "link" and body.faces is not None}


def test_shapes_are_where_the_description_puts_them_and_fixed_links_with_their_body(tmp_path: Path) -> None:
    urdf = check_urdf(text())
    run = tr.with_visuals(run_of(urdf), urdf)
    bodies = shown(run)
    assert list(bodies) == ["base", "arm_1"]
    # 0.4 m long along x, turned about y: along z, about 0.1 m above the base.
    assert np.ptp(bodies["base"].vertices, axis=0) == pytest.approx([0.2, 0.1, 0.4])
    assert bodies["base"].vertices.mean(axis=0) == pytest.approx([0.0, 0.0, 0.1])
    assert np.asarray(bodies["arm_1"].center_of_mass) == pytest.approx([0.0, 0.0, 0.1])
    points = bodies["arm_1"].vertices
    # Cylinder up to 0.3 m, sphere at 1 m, and the tool's capsule, of 0.8 m with its ends, at 2 m.
    assert (points[:, 2].min(), points[:, 2].max()) == pytest.approx((-0.3, 2.4))
    assert np.max(np.abs(points[np.abs(points[:, 2] - 1.0) < 0.19])) > 0.18
    path = run.save(tmp_path / "run.nc")
    assert np.array_equal(shown(load_trajectory(path))["arm_1"].faces, bodies["arm_1"].faces)


def test_the_picture_carries_them_with_the_bodies() -> None:
    urdf = check_urdf(text())
    run = tr.with_visuals(run_of(urdf), urdf)
    stage = build_stage(run)
    arm = next(actor for actor in stage.actors if "arm_1" in actor.name)
    assert arm.label == "links"
    # The hinge is 0.3 m above the base's origin.
    base = next(actor for actor in stage.actors if actor.name.startswith("link_base"))
    up = base.positions + rotation_matrices(base.quaternions) @ [0.0, 0.0, 0.3]
    assert arm.positions == pytest.approx(up, abs=1e-6)
    assert len(arm.parts[0].vertices) == len(shown(run)["arm_1"].vertices)


def test_meshes_are_left_out_where_they_may_not_be_copied(tmp_path: Path) -> None:
    (tmp_path / "a.stl").write_bytes(stl())
    (tmp_path / "r.urdf").write_text(text(MESH))
    urdf = load_urdf(tmp_path / "r.urdf", meshes=False)
    run = run_of(urdf)
    with_mesh, without = shown(tr.with_visuals(run, urdf)), shown(tr.with_visuals(run, urdf, meshes=False))
    assert with_mesh["arm_1"].vertices[:, 0].max() == pytest.approx(0.1)
    capsule = len(with_mesh["arm_1"].faces) - 4
    rod = without["arm_1"].faces[capsule:]
    assert np.array_equal(
        without["arm_1"].faces[:capsule], with_mesh["arm_1"].faces[4:] - with_mesh["arm_1"].faces[4:].min()
    )
    # In its place a rod from the hinge to the tool, 2 m above it, so that what is shown of the arm hangs together.
    points = without["arm_1"].vertices[np.unique(rod)]
    assert (points[:, 2].min(), points[:, 2].max()) == pytest.approx((0.0, 2.0))
    assert np.linalg.norm(points[:, :2], axis=1).max() == pytest.approx(0.04)
    assert np.array_equal(with_mesh["base"].vertices, without["base"].vertices)  # whose shape is no mesh


def test_shapes_have_the_colours_of_their_materials(tmp_path: Path) -> None:
    green = '<material name="green"><color rgba="0 0.6 0 1"/></material>'
    painted = BOX.replace("</visual>", '<material name="green"/></visual>')
    red = ROUND.replace("</visual>", '<material name=""><color rgba="1.2 0 0 0.5"/></material></visual>', 1)
    own = text(red).replace(BOX, painted).replace('<robot name="r">', f'<robot name="r">{green}')
    urdf = check_urdf(own)
    run = load_trajectory(tr.with_visuals(run_of(urdf), urdf).save(tmp_path / "run.nc"))
    actors = {actor.name.split("_")[1]: actor.parts for actor in build_stage(run).actors if actor.label == "links"}
    assert [part.colour for part in actors["base"]] == [(0, 153, 0)]
    # The cylinder red, the sphere and the tool, which have none, as steel; each with its own triangles.
    (cylinder, first), (ball, second), (_, third) = [(part, part.colour) for part in actors["arm"]]
    assert (first, second == third) == ((255, 0, 0), True)
    assert cylinder.vertices[:, 2].max() == pytest.approx(0.3)
    assert ball.vertices[:, 2].mean() == pytest.approx(1.0)
    with pytest.raises(InputError, match="rgba"):
        tr.with_visuals(run_of(urdf), check_urdf(own.replace("0 0.6 0 1", "0 green 0 1")))


def test_level_ground_reaches_as_far_as_the_contacts_and_the_first_body_is_the_base() -> None:
    run = run_of(check_urdf(text()))
    far = np.array(run["contact_position"])
    far[-1, 0, :2] += (3.0, -2.0)
    stage = build_stage(changed(run, contact_position=far))
    (ground,) = (actor.parts[0].vertices for actor in stage.actors if actor.label == "ground")
    assert np.all(ground[:, :2].min(axis=0) <= far[-1, 0, :2])
    assert np.all(ground[:, :2].max(axis=0) >= far[-1, 0, :2])
    assert np.ptp(ground[:, 2]) == pytest.approx(0.0)
    assert "base" in stage.actors[0].name


def test_what_is_no_description_is_refused() -> None:
    wrong: Any = "r.urdf"
    with pytest.raises(InputError, match="urdf"):
        tr.with_visuals(run_of(check_urdf(text())), wrong)
