"""Scenes in MuJoCo: masses, energy and poses are the same, motions agree with closed forms and with trundle's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

import trundle as tr
from trundle.cli.app import app
from trundle.interop import peers
from trundle.interop.comparison import Comparison, compare
from trundle.interop.mujoco import run, start_of, to_mjcf
from trundle.interop.scene import scene_of

mujoco = pytest.importorskip("mujoco")

G = 9.81
Scene = tuple["tr.RollingPair | tr.RollingTree", "tr.models.tree.system.Start"]


def incline(angle: float = 0.3) -> Scene:
    hand = tr.Hand(tr.Plane(), position=(0.1, 0.2, 0.3), rpy=(0.0, angle, 0.0))
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=0.5), hand)
    return pair, pair.place(contact_on_hand=(0.1, 0.2, 0.0))


def ellipsoid() -> Scene:
    body = tr.RigidBody(tr.Ellipsoid([0.05, 0.04, 0.03]), mass=0.2, center_of_mass=(0.0, 0.004, 0.001))
    pair = tr.RollingPair(body, tr.Hand(tr.Dish([0.5, 0.4, 0.3]), position=(0.1, 0.0, 0.2), rpy=(0.1, 0.0, 0.5)))
    q = np.array([0.9, 0.1, -0.3, 0.2])
    return pair, pair.place(
        contact_on_hand=(0.2, 0.1, -0.26), object_quaternion=q / np.linalg.norm(q), object_angular_velocity=(1, 2, 3)
    )


def superellipsoid() -> Scene:
    body = tr.RigidBody(tr.Superellipsoid([0.05, 0.04, 0.03], 2.5, rounding=0.01), mass=0.2)
    pair = tr.RollingPair(body, tr.Hand(tr.Plane()))
    return pair, pair.place(object_angular_velocity=(1.0, 0.5, 0.2))


def plate() -> Scene:
    hand = tr.Hand(tr.Plane(), position=(0.3, 0.1, 0.0), twist=(0, 0, 7, 0.7, -0.2, 0))
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), mass=0.1), hand)
    return pair, pair.place(object_angular_velocity=(1, 0, 0))


def rock() -> Scene:
    body = tr.RigidBody(tr.Ellipse([0.25, 0.12]), mass=1.0, inertia=0.02)
    pair = tr.RollingPair(body, tr.Ground(tr.Sinusoid(0.06, 0.8)))
    return pair, pair.place(contact_x=0.2, angle=0.4, angular_velocity=0.3)


def cart() -> Scene:
    """A cart with an arm that slides out of it, in the plane, on a slope."""
    robot = tr.Robot(gravity=G)
    body = robot.free(2.0, 0.02, center_of_mass=(0.01, 0.02), name="body")
    for name, x in (("rear", -0.1), ("front", 0.1)):
        robot.revolute(body, at=(x, -0.05), mass=0.2, shape=tr.Circle(0.05), name=name)
    arm = robot.revolute(body, at=(0.0, 0.1), mass=0.1, inertia=1e-3, center_of_mass=(0.0, 0.1), name="arm")
    robot.resist(arm, stiffness=2.0, rest=0.1, damping=0.05)
    robot.prismatic(arm, at=(0.0, 0.2), axis=(0.0, 1.0), mass=0.05, inertia=1e-4, name="tip")
    robot.terrain(tr.Line(0.1, 0.02), friction=0.8)
    tree = robot.finish()
    return tree, tree.place(body=(0.0, 0.12, 0.1), arm=0.2, tip=0.01, rates={"arm": 0.5, "tip": 0.1, "rear": -2.0})


def legged() -> Scene:
    """A body on a ball with a tilted swinging arm, in space."""
    robot = tr.Robot(gravity=(0.0, 0.0, -G))
    body = robot.free(1.0, (0.02, 0.03, 0.02), shape=tr.Sphere(0.1), shape_at=(0.0, 0.0, -0.02), name="body")
    robot.revolute(body, (0.0, 0.05, 0.1), 0.2, (1e-3, 2e-3, 1e-3), axis=(0, 1, 1), center_of_mass=(0, 0.1, 0),
                   name="arm")  # fmt: skip
    robot.terrain(tr.Plane(), friction=0.6)
    tree = robot.finish()
    return tree, tree.place(body=(0.0, 0.0, 0.12, 0.9, 0.1, 0.3, 0.3), arm=0.3, rates={"arm": 1.0})


SCENES = {one.__name__: one for one in (incline, ellipsoid, superellipsoid, plate, rock, cart, legged)}


@pytest.mark.parametrize("name", SCENES)
def test_mass_energy_and_poses_are_the_same(name: str) -> None:
    model, start = SCENES[name]()
    tree = model.system.model(start.atlas)
    made = to_mjcf(model, start).compile()
    data = start_of(made)
    own = tree.bodies
    for body in own:
        assert made.body(body.name).mass == pytest.approx(body.mass, rel=1e-12)
        place = ca.Function("p", [tree.x], [body.motion.p, body.motion.R, body.motion.v])(start.x)
        p, R, v = (np.asarray(value) for value in place)
        there, number, twist = data.xpos[made.body(body.name).id], made.body(body.name).id, np.zeros(6)
        mujoco.mj_objectVelocity(made, data, mujoco.mjtObj.mjOBJ_XBODY, number, twist, 0)
        axes = [0, 2] if model.d == 2 else [0, 1, 2]
        np.testing.assert_allclose(there[axes], p.ravel(), atol=1e-12)
        np.testing.assert_allclose(data.xmat[number].reshape(3, 3)[np.ix_(axes, axes)], R, atol=1e-12)
        np.testing.assert_allclose(twist[3:][axes], v.ravel(), atol=1e-12)
    energy = float(ca.Function("e", [tree.x], [tree.energy()])(start.x))
    heavy = [i for i in range(1, made.nbody) if made.body(i).name not in {body.name for body in own}]
    for i in heavy:  # the body that stands for a hand has an energy of its own
        energy += 0.5 * made.body_inertia[i][0] * float(np.sum(data.cvel[i][:3] ** 2)) - made.body_mass[i] * float(
            made.opt.gravity @ data.xipos[i]
        )
    mujoco.mj_energyPos(made, data)
    mujoco.mj_energyVel(made, data)
    for spec in tree.specs:
        if spec.stiffness:
            energy += 0.5 * spec.stiffness * float(start.x[tree.layout[f"{spec.name}.joint"]][0] - spec.rest) ** 2
    assert data.energy.sum() == pytest.approx(energy, rel=1e-10, abs=1e-10)


def test_a_ball_rolls_down_an_incline_at_five_sevenths() -> None:
    pair, start = incline(0.3)
    times = np.linspace(0.0, 1.0, 11)
    found = run(scene_of(pair, start), times, 1e-3)
    down = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    along = (found.bodies[:, 0, :3] - found.bodies[0, 0, :3]) @ down
    np.testing.assert_allclose(along, 5 / 14 * G * np.sin(0.3) * times**2, atol=1e-5)
    ours = tr.simulate(pair, start, 1.0, output_step=0.1)["object_position"]
    np.testing.assert_allclose((ours - ours[0]) @ down, 5 / 14 * G * np.sin(0.3) * times**2, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "path", "order"),
    [("incline", 1e-5, 1.8), ("plate", 1e-2, 0.8), ("rock", 0.1, 0.7), ("cart", 2e-3, 0.8), ("legged", 1e-2, 0.8)],
)
def test_other_paths_approach_ours_with_the_step(name: str, path: float, order: float) -> None:
    model, start = SCENES[name]()
    found = compare(model, start, 0.5, peers=["mujoco"], steps=[2e-3, 5e-4], samples=20)
    own, coarse, fine = found.rows[1], *found.rows[2:]
    assert own.peer == "trundle"
    assert own.path < 1e-6
    assert own.gap < 1e-12
    assert coarse.path < path
    assert np.log(coarse.path / fine.path) / np.log(4) > order
    assert fine.gap < 1e-4
