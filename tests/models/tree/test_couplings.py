"""Couplings of joints: gears and belts move as a model of fewer coordinates says, and push back."""

from __future__ import annotations

import importlib
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.audit.runs import evidence
from trundle.audit import audit_run
from trundle.errors import InputError

G = 9.81


def pendulums(ratio: float, offset: float = 0.0) -> tr.RollingTree:
    """Two pendulums of which the second one follows the first."""
    robot = tr.Robot(gravity=G)
    leader = robot.revolute(None, (0.0, 0.0), 1.0, 0.02, center_of_mass=(0.0, -0.3), name="leader")
    follower = robot.revolute(None, (1.0, 0.0), 0.5, 0.01, center_of_mass=(0.1, -0.2), name="follower")
    robot.couple(follower, leader, ratio=ratio, offset=offset)
    return robot.finish()


@pytest.mark.parametrize(("ratio", "offset"), [(1.0, 0.0), (-2.5, 0.4), (0.3, -1.0)])
def test_coupled_pendulums_move_as_one_coordinate_says(ratio: float, offset: float) -> None:
    """Lagrange with q and ratio q + offset: heights of the centres -.3 cos q and .1 sin p - .2 cos p."""
    tree = pendulums(ratio, offset)
    start = tree.place(leader=0.7, follower=ratio * 0.7 + offset, rates={"leader": 1.0, "follower": ratio})
    run = tr.simulate(tree, start, 1.5, relative_tolerance=1e-12)
    inertia = 0.02 + 1.0 * 0.09 + ratio**2 * (0.01 + 0.5 * 0.05)

    def slope(q: float) -> float:
        p = ratio * q + offset
        return G * (0.3 * np.sin(q) + ratio * 0.5 * (0.1 * np.cos(p) + 0.2 * np.sin(p)))

    exact = solve_ivp(
        lambda t, y: [y[1], -slope(y[0]) / inertia], (0.0, 1.5), [0.7, 1.0], rtol=1e-12, atol=1e-13, t_eval=run.time
    )
    q = run["joint_position"]
    np.testing.assert_allclose(q[:, 0], exact.y[0], atol=1e-9)
    np.testing.assert_allclose(q[:, 1], ratio * q[:, 0] + offset, atol=1e-13)
    np.testing.assert_allclose(run["energy"], run["energy"][0], atol=1e-9)


def test_a_lift_that_lands_throws_its_counterweight_back() -> None:
    """Masses m and M of which the second one rises r times as fast: from -v to e v and r e v, then at rest."""
    ratio, e = -0.5, 0.4
    robot = tr.Robot(gravity=(0, 0, -G), on_separation="fly")
    lift = robot.prismatic(None, (0, 0, 0.4), 2.0, 0.01, axis=(0, 0, 1), shape=tr.Sphere(0.1), name="lift")
    weight = robot.prismatic(None, (1, 0, 2.0), 1.0, 0.01, axis=(0, 0, 1), name="weight")
    robot.couple(weight, lift, ratio=ratio)
    robot.terrain(tr.Plane(), restitution=e)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(contacts=[]), 3.0)
    assert run.status.label in ("success", "rest")
    fall = (2.0 + ratio * 1.0) * G / (2.0 + ratio**2 * 1.0)
    speed = np.sqrt(2 * fall * 0.3)
    t = float(run.dataset["event_time"].values[0])
    assert t == pytest.approx(speed / fall, rel=1e-9)
    impulse = run.dataset["event_impulse"].values[0]
    np.testing.assert_allclose(impulse, [0, 0, (1 + e) * speed * (2.0 + ratio**2)], atol=1e-9)
    pressed = run["contact_force"][-1, 0]
    np.testing.assert_allclose(pressed, [0, 0, (2.0 + ratio * 1.0) * G], atol=1e-6)


def floating(seed: int) -> tuple[tr.RollingTree, Any]:
    """A body in space, without gravity, on which joints turn and slide that are geared to each other."""
    random = np.random.default_rng(seed)
    robot = tr.Robot(gravity=(0, 0, 0))
    base = robot.free(2.0, (0.02, 0.03, 0.04), name="base")
    links, parent = [], base
    for i in range(4):
        kind = robot.prismatic if random.random() < 0.4 else robot.revolute
        links.append(
            kind(
                parent if random.random() < 0.5 else base,
                random.normal(size=3) * 0.1,
                0.3,
                (1e-3, 2e-3, 2e-3),
                axis=random.normal(size=3),
                center_of_mass=random.normal(size=3) * 0.1,
                name=f"l{i}",
            )
        )
        parent = links[-1]
    robot.couple(links[1], links[0], ratio=float(random.normal()))
    robot.couple(links[3], links[2], ratio=float(random.normal()), offset=0.1)
    tree = robot.finish()
    rates = {"base": random.normal(size=6), **{f"l{i}": float(random.normal()) for i in (0, 2)}}
    return tree, tree.place(base=(0, 0, 0), rates=rates)


@pytest.mark.parametrize("seed", range(6))
def test_gears_of_a_floating_body_change_neither_momentum_nor_energy(seed: int) -> None:
    tree, start = floating(seed)
    run = tr.simulate(tree, start, 0.5, output_step=0.02)
    assert run.status.label == "success", run.metadata["audit"]["findings"]
    v, w, p = (run[f"body_{what}"] for what in ("velocity", "angular_velocity", "position"))
    R = np.asarray(run["body_quaternion"])
    moments = {"base": (0.02, 0.03, 0.04)}
    names = [str(name) for name in run.dataset["body"].values]
    mass = np.array([2.0 if name == "base" else 0.3 for name in names])
    momentum = np.einsum("b,nbi->ni", mass, v)
    L = np.cross(p, mass[:, None] * v).sum(axis=1)
    for i, name in enumerate(names):
        turn = Rotation.from_quat(R[:, i], scalar_first=True).as_matrix()
        inertia = np.diag(moments.get(name, (1e-3, 2e-3, 2e-3)))
        L += np.einsum("nij,jk,nlk,nl->ni", turn, inertia, turn, w[:, i])
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)
    np.testing.assert_allclose(L, np.broadcast_to(L[0], L.shape), atol=1e-9)
    np.testing.assert_allclose(run["energy"], run["energy"][0], atol=1e-8)


def test_the_audit_tells_a_joint_that_does_not_follow() -> None:
    tree = pendulums(-2.0)
    start = tree.place(leader=0.3, follower=-0.6)
    system, told = evidence((tree, start, 0.3, None))
    assert not audit_run(system, told).findings
    joints = told.samples.joints.copy()
    joints[5, 1] += 1e-4
    moved = replace(told, samples=replace(told.samples, joints=joints))
    assert any(one.law == "coupling" for one in audit_run(system, moved).findings)


def test_a_start_that_breaks_a_coupling_is_moved_onto_it_and_a_copy_keeps_it() -> None:
    tree = pickle.loads(pickle.dumps(pendulums(-2.0, 0.2)))
    start = tree.place(leader=0.3, follower=0.0)
    layout = tree.model().layout
    q, p = (float(start.x[layout[f"{name}.joint"]][0]) for name in ("leader", "follower"))
    assert p == pytest.approx(-2.0 * q + 0.2, abs=1e-13)
    assert tree.place(leader=0.3, hold=["leader"]).x[layout["follower.joint"]][0] == pytest.approx(-0.4, abs=1e-13)
    assert tr.simulate(tree, start, 0.1).status.label == "success"


def test_mujoco_moves_coupled_joints_alike() -> None:
    pytest.importorskip("mujoco")
    compare = importlib.import_module("trundle.interop.comparison").compare
    tree = pendulums(-1.5, 0.1)
    start = tree.place(leader=0.3, follower=-0.35)
    found = compare(tree, start, 0.3, peers=["mujoco"], steps=[2e-4], samples=10)
    assert found.rows[-1].path < 2e-3


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"ratio": 0.0}, "ratio"),
        ({"ratio": float("nan")}, "ratio"),
        ({"offset": float("inf")}, "offset"),
        ({"leader": "follower"}, "leader"),
        ({"leader": "base"}, "leader"),
        ({"link": "base"}, "link"),
    ],
)
def test_couplings_that_mean_nothing_are_refused(change: dict[str, Any], key: str) -> None:
    robot = tr.Robot()
    links = {
        "base": robot.free(1.0, 0.1, name="base"),
        "leader": robot.revolute(None, (0, 0), 1.0, 0.1, name="leader"),
        "follower": robot.revolute(None, (0, 0), 1.0, 0.1, name="follower"),
    }
    given: dict[str, Any] = {"link": "follower", "leader": "leader", **change}
    given |= {name: links[given[name]] for name in ("link", "leader")}
    with pytest.raises(InputError, match=key):
        robot.couple(**given)


def test_couplings_that_contradict_each_other_are_named() -> None:
    robot = tr.Robot()
    leader = robot.revolute(None, (0, 0), 1.0, 0.1, name="leader")
    follower = robot.revolute(None, (0, 0), 1.0, 0.1, name="follower")
    robot.couple(follower, leader, ratio=2.0)
    robot.couple(follower, leader, ratio=2.0, offset=0.5)
    with pytest.raises(InputError, match=r"coupling [12] is off by 0\.\d+, rad or m"):
        robot.finish().place(leader=0.0, follower=0.0)
