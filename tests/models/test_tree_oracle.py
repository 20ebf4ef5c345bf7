"""Trees on terrain against Lagrange's equations, and free trees against another simulator's smooth dynamics."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.models.planar_robots import leg, rover
from tests.oracles.trees import Rod, accelerations
from trundle.contact.laws import LAWS
from trundle.models.tree.conversion import to_matrix
from trundle.models.tree.touching import contact_points

RNG = np.random.default_rng(4)


def solved(robot: tr.RollingTree, start, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    model = robot.system.model(start.atlas)
    dynamics = model.dynamics([LAWS[name] for name in start.laws])
    touching = [force for force, law in zip(dynamics.forces, start.laws, strict=True) if LAWS[law].touching]
    function = ca.Function("tree", [model.x, model.u], [dynamics.nudot, model.nu, ca.horzcat(*touching)])
    nudot, nu, forces = (np.asarray(value) for value in function(start.x, u))
    return nudot.ravel(), nu.ravel(), forces.T


def compared(robot: tr.RollingTree, start, rods, terrain, outline_at, torque: np.ndarray) -> None:
    model = robot.system.model(start.atlas)
    base = model.bodies[0].name
    joints = [start.x[model.layout[f"{name}.joint"]][0] for name in model.joints]
    pose = [*start.x[model.layout[f"{base}.position"]], *start.x[model.layout[f"{base}.orientation"]]]
    parameters = []
    for i, law in enumerate(start.laws):
        if LAWS[law].touching:
            x_A, x_B, _ = contact_points(robot.system, start.atlas, start.x, i)
            parameters += [outline_at(x_A), x_B[0]]
    nudot, nu, forces = solved(robot, start, torque)
    order = [1, 2, 0, *range(3, 3 + len(joints))]  # ours: (w, v, joint rates)
    expected, pushes = accelerations(rods, terrain, np.array([*pose, *joints, *parameters]), nu[order], torque)
    np.testing.assert_allclose(nudot[order], expected, atol=1e-10 * (1 + np.abs(expected).max()))
    np.testing.assert_allclose(forces, pushes, atol=1e-10 * (1 + np.abs(pushes).max()))


@pytest.mark.filterwarnings("ignore::trundle.errors.TrundleWarning")  # random rates
@pytest.mark.parametrize("case", range(4))
def test_a_rover_on_a_sinusoid(case: int) -> None:
    robot = rover()
    bend = RNG.uniform(0.3, 0.9, 2)
    start = robot.place(
        base=(RNG.uniform(-1, 1), 0.62, RNG.uniform(-0.1, 0.1)),
        thigh_rear=bend[0], shin_rear=-2 * bend[0], thigh_front=bend[1], shin_front=-2 * bend[1],
        rates={"base": RNG.normal(size=3)}, tolerance=0.4,
    )  # fmt: skip
    leg_of = [(2.0, 0.02, (0, -0.16)), (1.5, 0.015, (0, -0.16))]
    rods, circle = [Rod(-1, (0, 0), 20.0, 1.2)], lambda phi: 0.12 * ca.vertcat(ca.cos(phi), ca.sin(phi))
    for x in (-0.35, 0.35):
        k = len(rods)
        rods += [Rod(0, (x, 0), *leg_of[0]), Rod(k, (0, -0.32), *leg_of[1])]
        rods += [Rod(k + 1, (0, -0.32), 1.5, 1.5 * 0.12**2 / 2, outline=circle)]
    terrain = lambda p: ca.vertcat(p, 0.06 * ca.sin(2 * ca.pi * p / 0.8))  # noqa: E731
    compared(robot, start, rods, terrain, lambda x: np.arctan2(x[1], x[0]), RNG.normal(size=6))


@pytest.mark.parametrize("case", range(4))
def test_a_leg_on_an_elliptic_foot_on_a_hill(case: int) -> None:
    robot = leg()
    pose = (RNG.uniform(-0.3, 0.3), 0.05, RNG.uniform(-0.2, 0.2))
    ankle, w = RNG.normal(), RNG.normal()
    still = robot.place(foot=pose, shin=ankle, tolerance=0.2)
    _, touch, _ = contact_points(robot.system, still.atlas, still.x, 0)
    layout = robot.system.model().layout
    r = touch - still.x[layout["foot.position"]]
    place = [*still.x[layout["foot.position"]], *still.x[layout["foot.orientation"]]]
    rates = {"foot": (w, w * r[1], -w * r[0]), "shin": RNG.normal()}
    start = robot.place(foot=place, shin=still.x[layout["shin.joint"]][0], rates=rates)
    ellipse = lambda phi: ca.vertcat(0.25 * ca.cos(phi), 0.06 * ca.sin(phi))  # noqa: E731
    rods = [Rod(-1, (0, 0), 2.0, 0.03, outline=ellipse), Rod(0, (0, 0.02), 3.0, 0.04, (0, 0.2))]
    terrain = lambda p: ca.vertcat(p, -0.1 * p**2)  # noqa: E731
    compared(robot, start, rods, terrain, lambda x: np.arctan2(x[1] / 0.06, x[0] / 0.25), RNG.normal(size=1))


MODEL = """
<mujoco><option gravity="0 0 -9.81"/><worldbody><body pos="0 0 0"><freejoint/>
<inertial pos="0 0 0" mass="5" diaginertia=".3 .4 .5"/>
<body pos=".2 .1 -.1"><joint type="hinge" axis="0 1 0" pos="0 0 0"/>
<inertial pos=".05 0 -.2" mass="2" diaginertia=".02 .03 .03"/>
<body pos="0 .05 -.4"><joint type="slide" axis="0 0 1"/>
<inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .015"/>
<body pos="0 0 -.3"><joint type="hinge" axis="1 0 0" pos="0 0 0"/>
<inertial pos="0 .1 0" mass=".5" diaginertia=".002 .003 .004"/></body></body></body></body></worldbody></mujoco>
"""


def test_a_free_tree_in_space_against_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="needs the extra 'sim'")
    robot = tr.Robot(gravity=[0, 0, -9.81])
    base = robot.free(5.0, [0.3, 0.4, 0.5])
    arm = robot.revolute(base, (0.2, 0.1, -0.1), 2.0, [0.02, 0.03, 0.03], center_of_mass=(0.05, 0, -0.2), name="arm")
    slide = robot.prismatic(
        arm, (0, 0.05, -0.4), 1.0, [0.01, 0.01, 0.015], center_of_mass=(0, 0, -0.1), axis=(0, 0, 1), name="slide"
    )
    hand = (0.5, [0.002, 0.003, 0.004])
    robot.revolute(slide, (0, 0, -0.3), *hand, center_of_mass=(0, 0.1, 0), axis=(1, 0, 0), name="hand")
    tree = robot.finish()
    model = tree.system.model()
    function = ca.Function("free", [model.x, model.u], [model.dynamics(()).nudot])
    plant = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(plant)
    for _ in range(3):
        q = RNG.normal(size=4)
        q /= np.linalg.norm(q)
        position, joints, w_body = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=3)
        v, rates, torque = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=3)
        data.qpos[:], data.qvel[:] = [*position, *q, *joints], [*v, *w_body, *rates]
        data.qfrc_applied[6:] = torque
        mujoco.mj_forward(plant, data)
        R = to_matrix(q)
        start = tree.place(
            base=(*position, *q), arm=joints[0], slide=joints[1], hand=joints[2],
            rates={"base": (*(R @ w_body), *v), "arm": rates[0], "slide": rates[1], "hand": rates[2]},
        )  # fmt: skip
        nudot = np.asarray(function(start.x, torque)).ravel()
        expected = np.concatenate([R @ data.qacc[3:6], data.qacc[:3], data.qacc[6:]])
        np.testing.assert_allclose(nudot, expected, atol=1e-9 * np.abs(expected).max())
