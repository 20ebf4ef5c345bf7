"""What no simulation may depend on: the world's frame and side, units, charts, the direction of time, bodies' order.

A `Transform` turns, mirrors, moves and scales a scene: x -> l Q x + p, masses by m, times by t. Every scene is built
through one, so that its run has to be the transformed run of the scene itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.models import Start
from trundle.models.urdf.checks import check_urdf

Array = np.ndarray
Y = np.diag([1.0, -1.0, 1.0])
"""Mirrors bodies that are even in y; spatial ones here are."""


def turned(x: float, y: float, z: float, mirrored: bool = False) -> Array:
    return Rotation.from_rotvec([x, y, z]).as_matrix() @ (Y if mirrored else np.eye(3))


@dataclass(frozen=True, eq=False)
class Transform:
    """x -> l Q x + p of points, m, l and t of units; bodies are mirrored about their own y = 0 where Q mirrors."""

    Q: Array = field(default_factory=lambda: np.eye(3))
    p: Array = field(default_factory=lambda: np.zeros(3))
    m: float = 1.0
    l: float = 1.0  # noqa: E741
    t: float = 1.0

    @property
    def side(self) -> float:
        """-1 where it mirrors."""
        return float(np.sign(np.linalg.det(self.Q)))

    @property
    def S(self) -> Array:
        """What bodies' own axes do."""
        return Y if self.side < 0 else np.eye(3)

    @property
    def flip(self) -> float:
        """-1 where it mirrors the plane y = 0."""
        return float(np.sign(np.linalg.det(self.Q[np.ix_([0, 2], [0, 2])])))

    @property
    def v(self) -> float:
        """The unit of speeds."""
        return self.l / self.t

    @property
    def f(self) -> float:
        """The unit of forces."""
        return self.m * self.l / self.t**2

    def point(self, x: Any) -> Array:
        """Return points (..., 3) of the other world."""
        return self.l * np.asarray(x) @ self.Q.T + self.p

    def vector(self, x: Any, unit: float) -> Array:
        """Return vectors (..., 3)."""
        return unit * np.asarray(x) @ self.Q.T

    def spin(self, w: Any) -> Array:
        """Return angular velocities (..., 3)."""
        return self.side / self.t * np.asarray(w) @ self.Q.T

    def turn(self, R: Array) -> Array:
        """Return orientations (..., 3, 3)."""
        return self.Q @ R @ self.S

    def hand(self, shape: tr.Shape, rpy: tuple[float, float, float], at: Any, twist: Any = (0,) * 6) -> tr.Hand:
        """Return a hand that coasts."""
        R = Rotation.from_euler("xyz", rpy).as_matrix()
        moving = np.r_[self.side / self.t * self.S @ twist[:3], self.v * self.S @ twist[3:]]
        angles = Rotation.from_matrix(self.turn(R)).as_euler("xyz")
        return tr.Hand(shape, self.point(at).tolist(), angles.tolist(), twist=moving.tolist())

    def quaternion(self, rpy: tuple[float, float, float]) -> Array:
        """Return the orientation of a body."""
        R = self.turn(Rotation.from_euler("xyz", rpy).as_matrix())
        return Rotation.from_matrix(R).as_quat(scalar_first=True)


G = np.array([0.0, 0.0, -9.81])
TURNED, AT = (0.3, -0.2, 0.5), (0.1, 0.2, -0.3)
SPIN = (1.0, 2.0, 3.0)


def body(T: Transform) -> tr.RigidBody:
    """An ellipsoid whose centre of mass lies off its centre, in its plane y = 0."""
    moments = np.array([0.05, 0.06, 0.045]) * T.m * T.l**2
    axes, com = (T.l * np.array([0.2, 0.25, 0.3])).tolist(), (T.l * np.array([0.02, 0.0, -0.04])).tolist()
    return tr.RigidBody(tr.Ellipsoid(axes), 1.5 * T.m, moments.tolist(), com)


def pair(T: Transform, base: Callable[[float], tr.Shape] = lambda l: tr.Plane(), **given: Any) -> tr.RollingPair:  # noqa: E741
    """The ellipsoid on a hand that turns and moves."""
    hand = T.hand(base(T.l), TURNED, AT, (0.1, -0.2, 0.3, 0.2, 0.1, 0.0))
    return tr.RollingPair(body(T), hand, gravity=T.vector(G, T.l / T.t**2).tolist(), bounce_speed=1e-3 * T.v, **given)


def on_hand(T: Transform, model: tr.RollingPair, spin: Any = SPIN, bottom: float = 0.0, **more: Any) -> Start:
    """Start with the contact 0.1 m off the middle of the hand."""
    contact = T.l * T.S @ np.array([0.1, 0.05, bottom])
    return model.place(
        contact_on_hand=contact,
        object_quaternion=T.quaternion((0.4, 0.2, 0.1)),
        object_angular_velocity=T.spin(spin),
        **more,
    )


Scene = Callable[[Transform], tuple[Any, Start, float]]


def rolling(T: Transform) -> tuple[Any, Start, float]:
    model = pair(T, on_slip="ignore", on_separation="ignore")
    return model, on_hand(T, model), 0.6


def rolling_in_a_dish(T: Transform) -> tuple[Any, Start, float]:
    model = pair(T, lambda l: tr.Dish((np.array([2.0, 2.5, 1.5]) * l).tolist()), on_slip="ignore")  # noqa: E741
    return model, on_hand(T, model, bottom=-1.5), 0.6


def pure_rolling(T: Transform) -> tuple[Any, Start, float]:
    model = pair(T, law="pure-rolling", on_slip="ignore", on_separation="ignore")
    normal = Rotation.from_euler("xyz", TURNED).as_matrix()[:, 2]
    hand = Rotation.from_euler("xyz", TURNED).as_matrix() @ np.array([0.1, -0.2, 0.3])
    spin = np.array(SPIN) - (np.array(SPIN) - hand) @ normal * normal
    return model, on_hand(T, model, spin), 0.6


def sliding(T: Transform) -> tuple[Any, Start, float]:
    model = pair(T, friction=0.2, on_slip="slide", on_separation="fly")
    slip = Rotation.from_euler("xyz", TURNED).as_matrix() @ np.array([0.6, -0.4, 0.0])
    return model, on_hand(T, model, slip=T.vector(slip, T.v)), 0.4


def bouncing(T: Transform) -> tuple[Any, Start, float]:
    model = pair(T, friction=0.3, restitution=0.6, on_slip="slide", on_separation="fly")
    start = model.place(
        object_position=T.point(np.add(AT, (0.0, 0.1, 0.6))),
        object_velocity=T.vector([0.3, 0.2, 0.0], T.v),
        object_quaternion=T.quaternion((0.4, 0.2, 0.1)),
        object_angular_velocity=T.spin(SPIN),
    )
    return model, start, 0.55


def flat(T: Transform) -> tuple[Array, float]:
    """Return l Q (2, 2) and the angle, counter-clockwise, by which a transform of the plane y = 0 turns."""
    Q = T.Q[np.ix_([0, 2], [0, 2])]
    turn = Q @ np.diag([T.flip, 1.0])
    return T.l * Q, float(np.arctan2(turn[1, 0], turn[0, 0]))


def ellipse_on_a_line(T: Transform) -> tuple[Any, Start, float]:
    """In the plane: slides, then rolls."""
    Q, turn = flat(T)
    com = T.l * np.array([0.0, -0.04])
    axes = (T.l * np.array([0.3, 0.2])).tolist()
    rolls = tr.RigidBody(tr.Ellipse(axes), 2.0 * T.m, 0.05 * T.m * T.l**2, com.tolist())
    moving = [0.2 * T.flip / T.t, *(T.v * np.array([0.1 * T.flip, 0.0]))]
    place = Q @ [0.1, -0.3] + T.p[[0, 2]]
    hand = tr.Hand(tr.Line(), place.tolist(), angle=turn + T.flip * 0.2, twist=moving)
    pull = (Q @ [0.0, -9.81] / T.t**2).tolist()
    model = tr.RollingPair(rolls, hand, gravity=pull, friction=0.25, on_slip="slide", on_separation="fly")
    model = replace(model, bounce_speed=1e-3 * T.v)
    slip = Q @ [np.cos(0.2), np.sin(0.2)] / T.t * 0.5
    start = model.place(
        contact_on_hand=T.l * np.array([0.1 * T.flip, 0.0]),
        object_angle=turn + T.flip * 0.4,
        object_angular_velocity=T.flip * 2.0 / T.t,
        slip=slip,
    )
    return model, start, 0.6


PAIRS: Mapping[str, Scene] = {
    one.__name__: one for one in (rolling, rolling_in_a_dish, pure_rolling, sliding, bouncing)
}
PLANE = Transform(turned(0.0, -0.6, 0.0), np.array([3.0, 0.0, -2.0]))
PLANE_MIRROR = Transform(turned(0.0, 0.3, 0.0) @ np.diag([-1.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0]))


@cache
def plain(scene: Scene) -> tr.Trajectory:
    """Return the run of the scene itself."""
    return run_of(scene, Transform())


def run_of(scene: Scene, T: Transform, samples: int = 20) -> tr.Trajectory:
    model, start, duration = scene(T)
    return tr.simulate(model, start, duration * T.t, output_step=duration * T.t / samples, relative_tolerance=1e-12)


def matrices(run: tr.Trajectory, name: str) -> Array:
    q = np.asarray(run[name])
    return Rotation.from_quat(q.reshape(-1, 4), scalar_first=True).as_matrix().reshape(*q.shape[:-1], 3, 3)


def close(found: Array, wanted: Array, unit: float, at: float) -> None:
    scale = max(unit, float(np.nanmax(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(found / scale, wanted / scale, atol=at, rtol=0)


def same_events(found: tr.Trajectory, wanted: tr.Trajectory, T: Transform, at: float) -> None:
    assert found.status is wanted.status
    told = [[(one["from"], one["to"], one["reason"]) for one in run.transitions] for run in (found, wanted)]
    assert told[0] == told[1]
    times = [np.array([one["time"] for one in run.transitions]) for run in (found, wanted)]
    np.testing.assert_allclose(times[0] / T.t, times[1], atol=at)


def check_pair(scene: Scene, T: Transform, at: float = 1e-8) -> None:
    """The run of the transformed scene is the transformed run."""
    found, wanted = run_of(scene, T), plain(scene)
    same_events(found, wanted, T, at)
    shifted = found["object_position"] - T.p, T.point(wanted["object_position"]) - T.p
    close(*shifted, T.l, at)
    close(found["object_velocity"], T.vector(wanted["object_velocity"], T.v), T.v, at)
    close(found["object_angular_velocity"], T.spin(wanted["object_angular_velocity"]), 1 / T.t, at)
    close(found["contact_force"], T.vector(wanted["contact_force"], T.f), T.f, 100 * at)
    close(matrices(found, "object_quaternion"), T.turn(matrices(wanted, "object_quaternion")), 1.0, at)


# trees ------------------------------------------------------------------------------------------------------


def cart(
    T: Transform,
    order: tuple[str, ...] = ("rear", "front"),
    chart: Callable[[Any], Any] = lambda u: u,
    **given: Any,
) -> tr.RollingTree:
    """A body on two wheels, with a pole on it, on waves whose parameter is any of their length's."""
    Q, _ = flat(T)
    robot = tr.Robot(gravity=Q @ [0.0, -9.81] / T.t**2, **given)

    def wave(u: Any) -> Any:
        s = T.flip * chart(u / T.l)
        return tuple((Q @ np.array([s, 0.05 * ca.sin(4.0 * s)]) + T.p[[0, 2]]).tolist())

    base = robot.free(2.0 * T.m, 0.05 * T.m * T.l**2, name="base")
    for name in order:
        if name == "pole":
            com, inertia = (T.l * np.array([0.0, 0.2])).tolist(), 0.01 * T.m * T.l**2
            robot.revolute(base, (0.0, 0.05 * T.l), 0.3 * T.m, inertia, center_of_mass=com, name=name)
            continue
        x = {"rear": -0.2, "front": 0.2}[name]
        at, wheel = (T.l * T.flip * x, -0.05 * T.l), tr.Circle(0.1 * T.l)
        robot.revolute(base, at, 0.5 * T.m, 0.004 * T.m * T.l**2, shape=wheel, name=name)
    robot.terrain(tr.geometry.ExpressionCurve(wave, (-8.0 * T.l, 8.0 * T.l)), 0.5, 0.3, bounce_speed=1e-3 * T.v)
    return robot.finish()


PARTS = ("rear", "front", "pole")


def driving(T: Transform, order: tuple[str, ...] = PARTS, **chart: Any) -> tuple[Any, Start, float]:
    """Two contacts that roll."""
    tree = cart(T, order, on_slip="ignore", on_separation="ignore", **chart)
    rates = {"pole": T.flip / T.t} | dict.fromkeys(("rear", "front"), -T.flip * 6.0 / T.t)
    return tree, placed(tree, T, 0.155, rates=rates), 0.4


def falling(T: Transform, order: tuple[str, ...] = PARTS) -> tuple[Any, Start, float]:
    """In the air, tilted: it flies, hits with one wheel, then the other, slides, rolls."""
    tree = cart(T, order, on_slip="slide", on_separation="fly")
    Q, _ = flat(T)
    twist = (T.flip * 0.5 / T.t, *(Q @ [0.8, 0.0] / T.t).tolist())
    return tree, placed(tree, T, 0.4, rates={"base": twist, "rear": T.flip * 3.0 / T.t}, contacts=()), 0.4


def placed(tree: tr.RollingTree, T: Transform, height: float, **more: Any) -> Start:
    Q, turn = flat(T)
    base = (*(Q @ [0.3, height] + T.p[[0, 2]]).tolist(), turn + T.flip * 0.1)
    return tree.place(base=base, pole=T.flip * 0.3, tolerance=0.2 * T.l, **more)


HOPPER = Path(__file__).resolve().parents[2] / "examples" / "hopper.urdf"


def hopper(T: Transform, backwards: bool = False) -> tuple[Any, Start, float]:
    """A robot of a URDF on two feet lands, its feet one after the other; a mirror exchanges left and right."""
    urdf = ET.parse(HOPPER)
    if backwards:
        urdf.getroot()[:] = urdf.getroot()[::-1]
    scales = {"mass": T.m, "inertia": T.m * T.l**2, "origin": T.l}
    for element in urdf.iter():
        for key, value in element.attrib.items():
            if element.tag in scales and key != "rpy":
                scaled = scales[element.tag] * np.array(value.split(), dtype=float)
                element.set(key, " ".join(f"{one:.17g}" for one in scaled))
    text, other = ET.tostring(urdf.getroot(), encoding="unicode"), {"left": "right", "right": "left"}
    sides = {side: side if T.side > 0 else other[side] for side in other}
    sole = tr.Ellipsoid((T.l * np.array([0.1, 0.05, 0.06])).tolist())
    order = reversed(other) if backwards else other
    feet = {side: tr.Foot(sole, f"{side}_shank", (0, 0, -0.22 * T.l), friction=0.8) for side in order}
    ground = T.hand(tr.Plane(), (0.1, -0.05, 0.0), (0.0, 0.0, 0.0))
    pull = T.vector(G, T.l / T.t**2).tolist()
    tree = tr.robot_from_urdf(check_urdf(text), feet, ground, gravity=pull, on_slip="slide", on_separation="fly")
    angles = {"left_hip": 0.2, "left_knee": 0.3, "right_hip": -0.1, "right_knee": 0.5}
    bent: dict[str, Any] = {
        sides[name.split("_")[0]] + "_" + name.split("_")[1]: angle for name, angle in angles.items()
    }
    bent |= {f"{sides[side]}_spread": T.side * angle for side, angle in (("left", 0.1), ("right", 0.05))}
    trunk = (*T.point([0.0, 0.0, 0.6]), *T.quaternion((0.1, 0.05, 0.2)))
    rates = {"trunk": (*T.spin([0.5, 0.3, 0.2]), *T.vector([0.4, 0.1, 0.0], T.v))}
    return tree, tree.place(trunk=trunk, rates=rates, contacts=(), tolerance=T.l, **bent), 0.2


TREES: Mapping[str, Scene] = {one.__name__: one for one in (driving, falling)}
EACH_TREE = pytest.mark.parametrize("scene", ["driving", pytest.param("falling", marks=pytest.mark.slow)])


def by_body(run: tr.Trajectory, name: str) -> dict[str, Array]:
    table = run.dataset[name]
    return {str(body): table.sel(body=body).values for body in table["body"].values}


def check_tree(run: tr.Trajectory, wanted: tr.Trajectory, T: Transform, at: float, mirrored: bool = False) -> None:
    """Positions, speeds and turns of every body, by its name, and what happened."""
    assert run.status is wanted.status
    times = [sorted({round(one["time"] / unit, 6) for one in r.transitions}) for r, unit in ((run, T.t), (wanted, 1.0))]
    np.testing.assert_allclose(times[0], times[1], atol=1e-5)
    points, speeds = (by_body(run, f"body_{name}") for name in ("position", "velocity"))
    other = {"left": "right", "right": "left"}
    for name, place in by_body(wanted, "body_position").items():
        side, _, rest = name.partition("_")
        here = f"{other[side]}_{rest}" if mirrored and side in other else name
        Q = T.Q if place.shape[-1] == 3 else flat(T)[0] / T.l
        shift = T.p if place.shape[-1] == 3 else T.p[[0, 2]]
        close(points[here] - shift, T.l * place @ Q.T, T.l, at)
        close(speeds[here], T.v * by_body(wanted, "body_velocity")[name] @ Q.T, T.v, 10 * at)


ANGLE, SHIFT, SCALE = st.floats(-3.0, 3.0), st.floats(-50.0, 50.0), st.floats(-1.0, 1.0)
FRAMES = st.builds(
    lambda x, y, z, p, mirrored: Transform(turned(x, y, z, mirrored), np.array(p)),
    ANGLE, ANGLE, ANGLE, st.tuples(SHIFT, SHIFT, SHIFT), st.booleans(),
)  # fmt: skip
UNITS = st.builds(lambda m, l, t: Transform(m=100.0**m, l=10.0**l, t=10.0 ** (l / 2 + t / 2)), SCALE, SCALE, SCALE)  # noqa: E741
FRAME = Transform(turned(0.7, -0.4, 2.0), np.array([3.0, -2.0, 5.0]))
MIRROR = Transform(turned(0.2, 0.3, -1.0, mirrored=True), np.array([0.0, 1.0, 0.0]))
UNIT = Transform(m=30.0, l=4.0, t=2.5)


def worlds(frame: Transform, mirror: Transform) -> pytest.MarkDecorator:
    """All at once; and, slowly, one by one."""
    both = replace(mirror, m=UNIT.m, l=UNIT.l, t=UNIT.t)
    apart = {"frame": frame, "mirror": mirror, "units": UNIT}
    slow = [pytest.param(T, id=name, marks=pytest.mark.slow) for name, T in apart.items()]
    return pytest.mark.parametrize("T", [pytest.param(both, id="all"), *slow])


SPACE = worlds(FRAME, MIRROR)
FLAT = worlds(PLANE, PLANE_MIRROR)


@SPACE
@pytest.mark.parametrize("scene", PAIRS)
def test_a_pair_moves_alike_in_another_world(scene: str, T: Transform) -> None:
    check_pair(PAIRS[scene], T, 1e-7)


@FLAT
def test_a_planar_pair_moves_alike_in_another_world(T: Transform) -> None:
    found, wanted = run_of(ellipse_on_a_line, T), plain(ellipse_on_a_line)
    same_events(found, wanted, T, 1e-7)
    assert "sliding" in wanted["mode"]
    Q, _ = flat(T)
    for name, unit in (("object_position", 1.0), ("object_velocity", 1 / T.t)):
        shift = T.p[[0, 2]] if name == "object_position" else np.zeros(2)
        values, before = (run[name] if run[name].shape[-1] == 2 else run[name][:, [0, 2]] for run in (found, wanted))
        close(values - shift, unit * before @ Q.T, T.l * unit, 1e-7)


@FLAT
@EACH_TREE
def test_a_tree_moves_alike_in_another_world(scene: str, T: Transform) -> None:
    check_tree(run_of(TREES[scene], T), plain(TREES[scene]), T, 1e-6)


@EACH_TREE
def test_the_order_of_bodies_and_contacts_does_not_matter(scene: str) -> None:
    model, start, duration = TREES[scene](Transform(), ("pole", "front", "rear"))  # type: ignore[call-arg]
    run = tr.simulate(model, start, duration, output_step=duration / 20, relative_tolerance=1e-12)
    check_tree(run, plain(TREES[scene]), Transform(), 1e-6)


@SPACE
def test_a_robot_of_a_urdf_lands_alike_in_another_world(T: Transform) -> None:
    check_tree(run_of(hopper, T), plain(hopper), T, 1e-6, mirrored=T.side < 0)


@pytest.mark.slow
def test_the_order_of_links_joints_and_feet_of_a_urdf_does_not_matter() -> None:
    check_tree(run_of(partial(hopper, backwards=True), Transform()), plain(hopper), Transform(), 1e-6)


# charts and time -----------------------------------------------------------------------------------------------


def uneven(u: Any) -> Any:
    """Another parameter of the same turn."""
    return u + 0.3 * ca.sin(u)


AXES = 0.2, 0.25, 0.3
TURN = (-np.pi, np.pi, "periodic")
REPARAMETRISED: Mapping[str, tuple[tr.Shape, tr.Shape, tr.Shape]] = {
    "circle": (tr.Circle(0.2), tr.FourierRadius(0.2), tr.Line()),
    "ellipse": (
        tr.Ellipse((0.3, 0.2)),
        tr.geometry.ExpressionCurve(lambda u: (0.3 * ca.cos(uneven(u)), 0.2 * ca.sin(uneven(u))), TURN, side=-1),
        tr.Line(),
    ),
    "ellipsoid": (
        tr.Ellipsoid(AXES),
        tr.geometry.ExpressionBody(lambda *n: ca.sqrt(sum((a * u) ** 2 for a, u in zip(AXES, n, strict=True)))),
        tr.Plane(),
    ),
}


@pytest.mark.parametrize("name", REPARAMETRISED)
def test_another_chart_of_the_same_shape_moves_alike(name: str) -> None:
    *shapes, ground = REPARAMETRISED[name]
    flat_, runs = ground.d == 2, []
    for shape in shapes:
        body = tr.RigidBody(shape, 1.0, 0.02 if flat_ else [0.02, 0.03, 0.025], (0.01,) * ground.d)
        model = tr.RollingPair(body, tr.Ground(ground), on_slip="ignore", on_separation="ignore")
        turn = {"angle": 0.4, "angular_velocity": 3.0}
        if not flat_:
            turn = {"object_quaternion": [0.8, 0.6, 0.0, 0.0], "object_angular_velocity": SPIN}
        runs.append(tr.simulate(model, model.place(**turn), 1.0, output_step=0.1, relative_tolerance=1e-12))
    for key in ("position", "velocity"):
        name = f"object_{key}" if f"object_{key}" in runs[0] else f"body_{key}"
        np.testing.assert_allclose(runs[1][name], runs[0][name], atol=1e-8)


@pytest.mark.parametrize("contact", ["chart", "level", "level-pair", "support-chart"])
def test_every_form_of_a_contact_moves_alike(contact: str) -> None:
    def formed(T: Transform) -> tuple[Any, Start, float]:
        model = pair(T, on_slip="ignore", on_separation="ignore", contact=contact)
        return model, on_hand(T, model), 0.6

    found, wanted = run_of(formed, Transform()), plain(rolling)
    same = np.searchsorted(found.time, wanted.time - 1e-9)  # a change of charts adds a sample
    np.testing.assert_allclose(found["object_position"][same], wanted["object_position"], atol=1e-8)
    np.testing.assert_allclose(found["contact_force"][same], wanted["contact_force"], atol=1e-6)


@pytest.mark.slow
def test_a_tree_moves_alike_on_ground_of_another_chart() -> None:
    check_tree(run_of(partial(driving, chart=uneven), Transform()), plain(driving), Transform(), 1e-6)


def on_ground(T: Transform) -> tuple[Any, Start, float]:
    model = tr.RollingPair(body(T), tr.Ground(tr.Plane()), on_slip="ignore", on_separation="ignore")
    return model, model.place(object_quaternion=T.quaternion((0.4, 0.2, 0.1)), object_angular_velocity=SPIN), 1.0


def on_ground_without_spin(T: Transform) -> tuple[Any, Start, float]:
    model, _, length = on_ground(T)
    model = replace(model, law="pure-rolling")
    spin = (*SPIN[:2], 0.0)
    return model, model.place(object_quaternion=T.quaternion((0.4, 0.2, 0.1)), object_angular_velocity=spin), length


def planar(T: Transform) -> tuple[Any, Start, float]:
    rolls = tr.RigidBody(tr.Ellipse((0.3, 0.2)), 2.0, 0.05, (0.0, -0.04))
    model = tr.RollingPair(rolls, tr.Ground(tr.Line()), on_slip="ignore", on_separation="ignore")
    return model, model.place(angle=0.4, angular_velocity=3.0), 1.0


MOVING = ("velocity", "angular_velocity", "rate", "twist", "relative_velocity")


@pytest.mark.parametrize(
    "scene", [on_ground, on_ground_without_spin, driving, pytest.param(planar, marks=pytest.mark.slow)]
)
def test_conservative_motion_runs_back(scene: Scene) -> None:
    """Turn all velocities round at the end: it comes back to where it was, the other way."""
    model, start, duration = scene(Transform())
    there = tr.simulate(model, start, duration, relative_tolerance=1e-12)
    end = tr.start_at(there, duration)
    layout, signs = model.system.model(end.atlas).layout, np.ones(len(end.x))
    for name, place in layout.items():
        if name.rpartition(".")[2] in MOVING:
            signs[place] = -1.0
    back = tr.simulate(model, replace(end, x=signs * end.x), duration, relative_tolerance=1e-12)
    assert np.ptp(there["energy"]) < 1e-9 * np.abs(there["energy"]).max()
    kind = "object" if "object_position" in there else "body"
    moved = np.abs(there[f"{kind}_position"][-1] - there[f"{kind}_position"][0]).max()
    assert moved > 0.1
    np.testing.assert_allclose(back[f"{kind}_position"][-1], there[f"{kind}_position"][0], atol=1e-8)
    np.testing.assert_allclose(back[f"{kind}_velocity"][-1], -there[f"{kind}_velocity"][0], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("scene", PAIRS)
@settings(max_examples=5)
@given(T=FRAMES)
def test_a_pair_moves_alike_in_any_frame(scene: str, T: Transform) -> None:
    check_pair(PAIRS[scene], T, 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("scene", PAIRS)
@settings(max_examples=5)
@given(T=UNITS)
def test_a_pair_moves_alike_in_any_units(scene: str, T: Transform) -> None:
    check_pair(PAIRS[scene], T, 1e-7)
