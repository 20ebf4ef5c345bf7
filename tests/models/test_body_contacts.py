"""Contacts between two free bodies: closed forms, what impacts keep, and the rows against the gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import trundle as tr
from trundle.errors import InputError
from trundle.models.tree.approach import place_approach, with_charts
from trundle.models.tree.closing import nearest
from trundle.models.tree.touching import touch_function, velocities_changed

MASSES = np.array([1.0, 2.0])


def balls(d: int, friction: float, restitution: float, spin: ArrayLike = 0.0) -> tr.Trajectory:
    """Return the run of a ball that hits another one, at rest, off its centre; no gravity."""
    shape = tr.Circle if d == 2 else tr.Sphere
    robot = tr.Robot(gravity=(0.0,) * d, on_slip="slide", on_separation="fly")
    robot.free(1.0, shape=shape(0.05), name="a")
    robot.free(2.0, shape=shape(0.1), name="b")
    robot.contact("a", "b", friction=friction, restitution=restitution)
    tree, turning = robot.finish(), np.broadcast_to(spin, 1 if d == 2 else 3)
    places: dict[str, Any] = {"a": np.r_[-0.2, np.zeros(d - 2), 0.05], "b": np.zeros(d)}
    return tr.simulate(tree, tree.place(rates={"a": np.r_[turning, 1.0, np.zeros(d - 1)]}, **places), 0.1)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_two_smooth_balls_collide_as_in_closed_form(d: int, restitution: float) -> None:
    run = balls(d, 0.0, restitution)
    n = np.r_[-np.sqrt(0.15**2 - 0.05**2), np.zeros(d - 2), 0.05] / 0.15  # from b to a
    blow = -(1 + restitution) * n[0] / (1 / MASSES).sum()
    before, e = np.zeros((2, d)), np.eye(d)[0]
    before[0] = e
    expected = before + np.outer([1.0, -1.0] / MASSES, blow * n)
    assert run.status.label == "success"
    assert [(body.name, body.role) for body in run.scene] == [("a", "body"), ("b", "body")]
    assert run.transitions[0]["time"] == pytest.approx(0.2 - np.sqrt(0.15**2 - 0.05**2), abs=1e-12)
    np.testing.assert_allclose(run["body_velocity"][-1], expected, atol=1e-12)
    lost = 0.5 * (1 - restitution**2) * n[0] ** 2 / (1 / MASSES).sum()
    assert run["energy"][-1] == pytest.approx(0.5 - lost, abs=1e-12)


@pytest.mark.parametrize(("d", "spin"), [(2, 30.0), (3, (3.0, 30.0, -20.0))])
def test_a_rough_blow_keeps_both_momenta_and_rolls(d: int, spin: ArrayLike) -> None:
    run = balls(d, 2.0, 0.0, spin)
    inertia = MASSES * np.array([0.05, 0.1]) ** 2 * (0.5 if d == 2 else 0.4)
    r, v, w = (np.asarray(run[f"body_{name}"]) for name in ("position", "velocity", "angular_velocity"))
    linear = np.einsum("b,tbi->ti", MASSES, v)
    if d == 2:  # counter-clockwise in x-z
        orbital = np.einsum("b,tb->t", MASSES, r[..., 0] * v[..., 1] - r[..., 1] * v[..., 0])
        angular = orbital + w @ inertia
    else:
        angular = np.einsum("b,tbi->ti", MASSES, np.cross(r, v)) + np.einsum("b,tbi->ti", inertia, w)
    np.testing.assert_allclose(linear, np.broadcast_to(linear[0], linear.shape), atol=1e-11)
    np.testing.assert_allclose(angular, np.broadcast_to(angular[0], angular.shape), atol=1e-11)
    assert abs(w[-1, 1]).max() > 0.1  # the spin went over
    assert run["energy"][-1] < run["energy"][0]


def test_touching_balls_pass_a_blow_on_one_after_the_other() -> None:
    robot = tr.Robot(gravity=(0.0, 0.0, 0.0), on_slip="slide", on_separation="fly")
    for i in range(3):
        robot.free(1.0, 1e-3, shape=tr.Sphere(0.05), name=f"b{i}")
    for i in range(2):
        robot.contact(f"b{i}", f"b{i + 1}", friction=0.0, restitution=1.0, name=f"c{i}")
    tree = robot.finish()
    places: dict[str, Any] = {f"b{i}": (0.1 * i - 0.002 * (i == 0), 0.0, 0.0) for i in range(3)}
    run = tr.simulate(tree, tree.place(rates={"b0": (0, 0, 0, 1.0, 0, 0)}, **places), 0.01)
    np.testing.assert_allclose(run["body_velocity"][-1, :, 0], [0.0, 0.0, 1.0], atol=1e-12)
    assert [t["contact"] for t in run.transitions] == ["c0", "c1"]


@pytest.mark.parametrize("seed", range(2))
def test_the_rows_are_the_derivative_of_the_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = 2 + seed % 2
    robot, k = tr.Robot(gravity=(0.0,) * d), 1 if d == 2 else 3
    for name, axes in (("a", (0.1, 0.2, 0.15)), ("b", (0.3, 0.2, 0.25))):
        body = robot.free(1.0, 0.1 if d == 2 else (0.1, 0.2, 0.25), name=f"body-{name}")
        shape = tr.Ellipse(axes[:2]) if d == 2 else tr.Ellipsoid(axes)
        turn = rng.normal(size=3) if d == 3 else float(rng.normal())
        robot.attach(body, shape, at=0.1 * rng.normal(size=d), rpy=turn, name=name)
    robot.contact("a", "b")
    tree = robot.finish()
    poses: dict[str, Any] = {
        f"body-{name}": 0.6 * side * rng.uniform(0.7, 1.0, d) for name, side in (("a", 1.0), ("b", -1.0))
    }
    rates = {name: rng.normal(size=k + d) for name in poses}
    start = tree.place(rates=rates, **poses)
    system = tree.system
    found = nearest(system, start.atlas, start.x, 0)
    assert found is not None
    atlas = with_charts(start.atlas, 0, found.charts)
    x = place_approach(system, atlas, start.x, 0, found)
    J, _, n, *_ = (np.asarray(value) for value in touch_function(system, atlas, 0)(x))
    nu = np.concatenate([rates[name] for name in tree.system.model().columns])
    assert found.speed == pytest.approx(float(n.ravel() @ (J @ nu)), rel=1e-9)

    def gap(step: float) -> float:
        moved = {
            name: np.r_[place + step * rates[name][k:], turned(step * rates[name][:k])] for name, place in poses.items()
        }
        there = nearest(system, atlas, tree.given_state(**moved), 0)
        assert there is not None
        return there.gap

    h = 1e-5
    assert (gap(h) - gap(-h)) / (2 * h) == pytest.approx(found.speed, rel=1e-7, abs=1e-8)
    still = velocities_changed(system, atlas, start.x, -nu)
    again = nearest(system, atlas, still, 0)
    assert again is not None
    assert again.speed == pytest.approx(0.0, abs=1e-14)


def turned(vector: np.ndarray) -> np.ndarray:
    """Return the angle, or the quaternion of a rotation vector."""
    if len(vector) == 1:
        return vector
    angle = float(np.linalg.norm(vector))
    return np.r_[np.cos(angle / 2), vector * np.sinc(angle / 2 / np.pi) / 2]


def test_three_dominoes_fall_on_each_other() -> None:
    """Hits of smooth dominoes on hinges against `bench.classics.blocks.domino_times`, by quadrature."""
    from bench.classics.blocks import DOMINO, GRAVITY, HIGH, PUSH, SPACING, THICK, domino_times

    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    inertia, tip = DOMINO / 12 * (THICK**2 + HIGH**2), 1e-7
    for i in range(3):
        edge, middle = (i * (SPACING + THICK), 0.0), (-THICK / 2, HIGH / 2)
        one = robot.revolute(None, edge, DOMINO, inertia, center_of_mass=middle, actuated=False, name=f"d{i}")
        robot.attach(one, tr.Circle(tip), at=(-tip, HIGH), name=f"top{i}")
        if i:
            robot.attach(one, tr.Line(), at=(-THICK, 0.0), rpy=np.pi / 2, name=f"back{i}")
            robot.resist(one, high=0.0)
            robot.contact(f"top{i - 1}", f"back{i}", friction=0.0)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(rates={"d0": -PUSH}), 0.3)
    hits = [t["time"] for t in run.transitions if t["contact"].startswith("top")]
    np.testing.assert_allclose(hits, domino_times()[:2], rtol=1e-6)
    assert run.transitions[-1]["to"] == "sliding + sliding"


def test_what_cannot_touch_is_named() -> None:
    robot = tr.Robot(gravity=(0.0, 0.0))
    body = robot.free(1.0, shape=tr.Circle(0.1), name="a")
    robot.attach(body, tr.Circle(0.05), at=(0.2, 0.0), rpy=0.3, name="a2")
    robot.free(1.0, shape=tr.Circle(0.1), name="b")
    with pytest.raises(InputError, match="a shape of another body than 'a'"):
        robot.contact("a", "a2")
    with pytest.raises(InputError, match="other"):
        robot.contact("a", "c")
    robot.contact("a", "b")
    with pytest.raises(InputError, match="a name no other shape of the robot has"):
        robot.contact("a", "b")
    tree = robot.finish()
    with pytest.raises(InputError, match="inside b"):
        tree.place(a=(0.0, 0.0), b=(0.1, 0.0))


def test_a_cylinder_rolls_on_one_that_rolls_on_the_ground() -> None:
    robot = tr.Robot(gravity=9.81)
    robot.free(1.0, shape=tr.Circle(0.1), name="low")
    robot.free(0.5, shape=tr.Circle(0.05), name="top")
    robot.terrain(tr.Line(), friction=5.0)
    robot.contact("top", "low")
    place = {"low": (0.0, 0.1), "top": (0.15 * np.sin(0.1), 0.1 + 0.15 * np.cos(0.1))}
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(contacts=["low", "top-low"], **place), 0.2)
    assert run.status.label == "success"
    assert np.ptp(run["energy"]) < 1e-10
    where, spin = np.asarray(run["body_position"]), np.asarray(run["body_angular_velocity"])
    np.testing.assert_allclose(np.linalg.norm(where[:, 1] - where[:, 0], axis=1), 0.15, atol=1e-11)
    # Rolling without slip, w1 r1 = -v1 below and equal speeds of the two surfaces above.
    n = (where[:, 1] - where[:, 0]) / 0.15
    v = np.asarray(run["body_velocity"])
    around = np.stack([-n[:, 1], n[:, 0]], axis=1)
    speeds = v[:, 0] + 0.1 * spin[:, :1] * around, v[:, 1] - 0.05 * spin[:, 1:] * around
    np.testing.assert_allclose(*speeds, atol=1e-9)
    assert abs(v[-1, 0, 0]) > 1e-3
