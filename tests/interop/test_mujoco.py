"""Scenes in MuJoCo: masses, energy and poses are the same, motions agree with closed forms and with trundle's."""

from __future__ import annotations

import copy
import doctest
import pickle
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

import trundle as tr
from trundle.cli.app import app
from trundle.extras import command
from trundle.geometry import Point
from trundle.interop.comparison import compare
from trundle.interop.mujoco import run, start_of, to_mjcf
from trundle.interop.scene import scene_of
from trundle.models import VectorJoint
from trundle.models.tree.system import Start

mujoco = pytest.importorskip("mujoco")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

G = 9.81
Scene = tuple[tr.RollingPair | tr.RollingTree, Start]


@cache
def incline(angle: float = 0.3) -> Scene:
    hand = tr.Hand(tr.Plane(), position=(0.1, 0.2, 0.3), rpy=(0.0, angle, 0.0))
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=0.5), hand)
    return pair, pair.place(contact_on_hand=(0.1, 0.2, 0.0))


@cache
def ellipsoid() -> Scene:
    body = tr.RigidBody(tr.Ellipsoid([0.05, 0.04, 0.03]), mass=0.2, center_of_mass=(0.0, 0.004, 0.001))
    pair = tr.RollingPair(body, tr.Hand(tr.Dish([0.5, 0.4, 0.3]), position=(0.1, 0.0, 0.2), rpy=(0.1, 0.0, 0.5)))
    q = np.array([0.9, 0.1, -0.3, 0.2])
    return pair, pair.place(
        contact_on_hand=(0.2, 0.1, -0.26), object_quaternion=q / np.linalg.norm(q), object_angular_velocity=(1, 2, 3)
    )


@cache
def superellipsoid() -> Scene:
    body = tr.RigidBody(tr.Superellipsoid([0.05, 0.04, 0.03], 2.5, rounding=0.01), mass=0.2)
    pair = tr.RollingPair(body, tr.Hand(tr.Plane()))
    return pair, pair.place(object_angular_velocity=(1.0, 0.5, 0.2))


@cache
def plate() -> Scene:
    hand = tr.Hand(tr.Plane(), position=(0.3, 0.1, 0.0), twist=(0, 0, 7, 0.7, -0.2, 0))
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), mass=0.1), hand)
    return pair, pair.place(object_angular_velocity=(1, 0, 0))


@cache
def rock() -> Scene:
    body = tr.RigidBody(tr.Ellipse([0.25, 0.12]), mass=1.0, inertia=0.02)
    pair = tr.RollingPair(body, tr.Ground(tr.Sinusoid(0.06, 0.8)))
    return pair, pair.place(contact_x=0.2, angle=0.4, angular_velocity=0.3)


@cache
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


@cache
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
    found = run(scene_of(pair, start), times, 1e-3, integrator="rk4")
    down = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    along = (found.bodies[:, 0, :3] - found.bodies[0, 0, :3]) @ down
    np.testing.assert_allclose(along, 5 / 14 * G * np.sin(0.3) * times**2, atol=1e-5)
    ours = tr.simulate(pair, start, 1.0, output_step=0.1)["object_position"]
    np.testing.assert_allclose((ours - ours[0]) @ down, 5 / 14 * G * np.sin(0.3) * times**2, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "path", "order"),
    [("incline", 2e-3, 0.9), ("plate", 1e-2, 0.8), ("rock", 0.1, 0.7), ("cart", 1e-2, 0.8), ("legged", 1e-2, 0.8)],
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


def _ball(hand: tr.Hand | tr.Ground, **numbers: Any) -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), hand, **numbers)


def _on_waves() -> Scene:
    grid = np.linspace(-1, 1, 21)
    pair = _ball(tr.Ground(tr.HeightMap(grid, grid, 0.1 * np.sin(3 * grid)[:, None] * np.cos(2 * grid))))
    return pair, pair.place(contact_on_hand=(0.1, 0.2, 0.02))


def _in_a_bowl() -> Scene:
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=1.0), tr.Ground(tr.Arc(1.0, (0, 1.0), "inside")))
    return pair, pair.place(contact_x=0.4)


def _on_a_tray() -> Scene:
    hand = tr.Hand(tr.Line(), position=(0.1, 0.2), angle=0.1, twist=(0.5, 0, 0.1))
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=1.0), hand)
    return pair, pair.place(contact_on_hand=(0.05, 0))


def _on_a_log() -> Scene:
    pair = _ball(tr.Hand(tr.Cylinder(0.3), rpy=(0, np.pi / 2, 0)))
    return pair, pair.place(contact_on_hand=(-0.29, 0.1, 0))


def _ring() -> Scene:
    pair = tr.RollingPair(tr.RigidBody(tr.Torus(0.1, 0.03), mass=1.0), tr.Ground(tr.Plane()))
    return pair, pair.place(object_quaternion=[np.cos(0.7), np.sin(0.7), 0, 0])


def _egg() -> Scene:
    pair = tr.RollingPair(tr.RigidBody(tr.FourierRadius(0.2, cos=[0.0, 0.05]), mass=1.0), tr.Ground(tr.Line(-0.1)))
    return pair, pair.place(contact_x=0.1, angle=0.3)


def _hopper() -> Scene:
    sole = tr.Ellipsoid([0.1, 0.05, 0.06])
    feet = {side: tr.Foot(sole, f"{side}_shank", (0, 0, -0.22), friction=0.8) for side in ("left", "right")}
    tree = tr.robot_from_urdf(tr.load_urdf(EXAMPLES / "hopper.urdf"), feet, tr.Plane())
    return tree, tree.place(trunk=(0, 0, 0.55), tolerance=1.0, contacts=["left"])


@pytest.mark.parametrize("make", [_on_waves, _in_a_bowl, _on_a_tray, _on_a_log, _ring, _egg, _hopper])
def test_other_shapes_and_grounds(make: Callable[[], Scene]) -> None:
    model, start = make()
    ours, theirs = compare(model, start, 0.3, peers=["mujoco"], steps=[1e-3], samples=15).rows
    assert ours.path < 1e-6
    assert theirs.path < 2e-3
    assert theirs.gap < 3e-4


def test_a_field_of_heights_is_the_surface() -> None:
    """Sampled heights of the dish at the corners of the cells, in the hand's turned frame."""
    pair, start = ellipsoid()
    made = to_mjcf(pair, start, cells=20, reach=0.1).compile()
    half, top = made.hfield_size[0][:2], made.hfield_size[0][2]
    heights = top * made.hfield_data.reshape(21, 21)
    x, y = np.meshgrid(np.linspace(-half[0], half[0], 21), np.linspace(-half[1], half[1], 21))
    local = np.stack([x, y, heights], axis=-1).reshape(-1, 3)
    data = start_of(made)
    geom = made.geom("hand").id
    world = data.geom_xpos[geom] + local @ data.geom_xmat[geom].reshape(3, 3).T
    hand: Any = pair.base
    inside = (world - np.array(hand.position)) @ hand.R_world_hand
    assert np.abs(np.sum((inside / [0.5, 0.4, 0.3]) ** 2, axis=1) - 1).max() < 1e-6  # heights are single precision


def test_coefficients_become_directions_of_friction() -> None:
    body, hand = tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane())

    def pair(**numbers: Any) -> tuple[int, list[float]]:
        made = tr.RollingPair(body, hand, friction=0.7, **numbers)
        model = to_mjcf(made, made.place()).compile()
        return int(model.pair_dim[0]), model.pair_friction[0].tolist()

    assert pair() == (3, [0.7, 0.7, 0.0, 0.0, 0.0])
    assert pair(law="pure-rolling", torsional_friction=0.02) == (4, [0.7, 0.7, 0.02, 0.0, 0.0])
    assert pair(drilling_friction=0.03) == (4, [0.7, 0.7, 0.03, 0.0, 0.0])
    assert pair(rolling_friction=0.01) == (6, [0.7, 0.7, 0.0, 0.01, 0.01])


@pytest.mark.parametrize("name", ["ellipsoid", "superellipsoid", "cart"])
def test_the_file_is_the_model(name: str) -> None:
    """Read back from its text, with six digits of each number, it moves as it does."""
    spec = to_mjcf(*SCENES[name]())
    places = []
    for model in (spec.compile(), mujoco.MjModel.from_xml_string(spec.to_xml())):
        data = start_of(model)
        mujoco.mj_step(model, data, 100)
        places.append(data.qpos.copy())
    np.testing.assert_allclose(*places, atol=1e-4)


def test_restitution_throws_a_ball_back() -> None:
    pair = tr.RollingPair(
        tr.RigidBody(tr.Sphere(0.05), mass=1.0), tr.Ground(tr.Plane()), restitution=0.8, on_separation="fly"
    )
    start = pair.place(object_position=[0.0, 0.0, 0.55], object_velocity=[0.0, 0.0, 0.0])
    times = np.linspace(0.0, 0.7, 701)
    found = run(scene_of(pair, start), times, 1e-4)
    after = found.bodies[times > 0.4, 0, 2]
    assert after.max() - 0.05 == pytest.approx(0.5 * 0.8**2, rel=0.04)  # an impact lasts 16 steps


def test_pins_and_stops_are_kept() -> None:
    """A four-bar as a tree with a pin, and a pendulum with a stop."""
    robot = tr.Robot(gravity=G)
    left = robot.revolute(None, at=(0.0, 1.0), mass=0.2, inertia=1e-3, center_of_mass=(0.0, -0.2), name="left")
    coupler = robot.revolute(left, at=(0.0, -0.4), mass=0.2, inertia=1e-3, center_of_mass=(0.2, 0.0), name="coupler")
    right = robot.revolute(None, at=(0.4, 1.0), mass=0.2, inertia=1e-3, center_of_mass=(0.0, -0.2), name="right")
    robot.close(coupler, (0.4, 0.0), right, (0.0, -0.4))
    swing = robot.revolute(None, at=(2.0, 1.0), mass=0.2, inertia=1e-3, center_of_mass=(0.0, -0.2), name="swing")
    robot.resist(swing, low=-0.3, high=0.3)
    tree = robot.finish()
    start = tree.place(left=0.3, coupler=-0.3, right=0.3, swing=0.2, rates={"swing": 1.0})
    found = compare(tree, start, 0.4, peers=["mujoco"], steps=[1e-3], samples=20)
    assert found.rows[1].path < 5e-3


REFUSED: dict[str, tuple[Callable[[], Scene], str]] = {}


def refused(key: str) -> Callable[[Callable[[], Scene]], Callable[[], Scene]]:
    def keep(make: Callable[[], Scene]) -> Callable[[], Scene]:
        REFUSED[make.__name__] = make, key
        return make

    return keep


def _placed(hand: tr.Hand, **numbers: Any) -> Scene:
    pair = _ball(hand, **numbers)
    return pair, pair.place()


@refused("motion of hand")
def shaken() -> Scene:
    motion = tr.SinusoidMotion(amplitude=(0, 0, 0, 1, 0, 0), frequency=(1,) * 6)
    return _placed(tr.Hand(tr.Plane(), motion=motion))


@refused("twist of hand")
def screw() -> Scene:
    return _placed(tr.Hand(tr.Plane(), twist=(0, 0, 1, 0, 0, 1)))


@refused("adhesion of contact")
def sticky() -> Scene:
    return _placed(tr.Hand(tr.Plane()), adhesion=1.0)


@refused("law of contact")
def compliant() -> Scene:
    return _placed(tr.Hand(tr.Plane()), law="hunt-crossley")


@refused("forces")
def pushed() -> Scene:
    return _placed(tr.Hand(tr.Plane()), forces=[tr.Force("object", lambda t, states: -states["object"].velocity)])


@refused("contact.shape")
def in_a_tube() -> Scene:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Ground(tr.Tube(0.5)))
    return pair, pair.place(contact_on_hand=(0.5, 0.0, 0.0))


@refused("foot.shape")
def on_a_point() -> Scene:
    robot = tr.Robot(gravity=(0.0, 0.0, -G))
    robot.free(1.0, (0.02, 0.02, 0.02), shape=Point(), name="foot")
    robot.terrain(tr.Plane())
    tree = robot.finish()
    return tree, tree.place(foot=(0.0, 0.0, 0.0))


class Circling(VectorJoint):
    """Moves on a circle of 0.5 m without turning."""

    d, size = 3, 1

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX.eye(3), 0.5 * ca.vertcat(ca.cos(q), ca.sin(q), 0)

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX(3, 1), 0.5 * ca.vertcat(-ca.sin(q), ca.cos(q), 0)


@refused("joint of seat")
def on_a_joint_of_ones_own() -> Scene:
    robot = tr.Robot(gravity=(0.0, 0.0, -G))
    robot.joint(None, Circling(), 1.0, (0.02, 0.02, 0.02), name="seat")
    tree = robot.finish()
    return tree, tree.place()


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_counterpart_is_named(name: str) -> None:
    make, key = REFUSED[name]
    with pytest.raises(tr.InputError) as raised:
        to_mjcf(*make())
    assert raised.value.key == key


def test_a_flat_body_is_accepted() -> None:
    """MuJoCo refuses A + B = C; a disc with a sharp rim is an ellipsoid a thousand times thinner than wide."""
    pair = tr.RollingPair(tr.RigidBody(tr.Disc(0.1), 1.0, [2.5e-3, 2.5e-3, 5e-3]), tr.Ground(tr.Plane()))
    start = pair.place(object_quaternion=[np.cos(0.7), np.sin(0.7), 0, 0], object_angular_velocity=[0, 0, 5.0])
    found = compare(pair, start, 0.2, peers=["mujoco"], steps=[1e-3], samples=10)
    assert found.rows[1].path < 2e-3


def test_what_differs_is_said() -> None:
    assert "hand: moves as told here" in to_mjcf(*plate()).comment
    assert "hull of 4000 points" in to_mjcf(*superellipsoid()).comment
    assert "heights every" in to_mjcf(*ellipsoid()).comment
    assert to_mjcf(*incline()).comment == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": 0.0},
        {"contact": "soft"},
        {"integrator": "rk5"},
        {"reach": -1.0},
        {"cells": 1},
        {"cells": 2.5},
        {"step": "1 ms"},
    ],
)
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises(tr.InputError, match=next(iter(wrong))):
        to_mjcf(*incline(), **wrong)


def test_wrong_models_and_comparisons() -> None:
    pair, start = incline()
    with pytest.raises(tr.InputError, match="model"):
        to_mjcf("pair", start)  # pyright: ignore[reportArgumentType]
    with pytest.raises(tr.InputError, match="start"):
        to_mjcf(pair, start.x)  # pyright: ignore[reportArgumentType]
    cases: tuple[dict[str, Any], ...] = (
        {"peers": ["bullet"]},
        {"steps": [0.0]},
        {"steps": [1.0]},
        {"samples": 1},
        {"contact": "soft"},
    )
    for wrong in cases:
        with pytest.raises(tr.InputError, match=next(iter(wrong))):
            compare(pair, start, 1.0, **wrong)


def test_a_missing_simulator_is_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trundle.interop.drake", None)  # importing it fails
    found = compare(*incline(), 0.1, peers=["drake", "mujoco"], steps=[1e-3], samples=5)
    assert list(found.missing) == ["drake"]
    assert command("peers") in found.missing["drake"]
    assert [row.peer for row in found.rows] == ["trundle", "mujoco"]
    assert "drake is left out" in found.table()
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert repr(again) == repr(found)


@pytest.mark.parametrize("name", ["pybullet", "drake"])
def test_other_simulators(name: str) -> None:
    pytest.importorskip(name if name == "pybullet" else "pydrake")
    for scene, path in (("incline", 2e-3), ("plate", 2e-3), ("superellipsoid", 2e-3), ("legged", 2e-3)):
        model, start = SCENES[scene]()
        row = compare(model, start, 0.3, peers=[name], steps=[1e-3], samples=20).rows[1]
        assert row.note == ""
        assert row.path < path
        assert row.gap < 2e-4


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trundle.interop.drake", None)
    monkeypatch.setitem(sys.modules, "trundle.interop.pybullet", None)
    call = CliRunner().invoke
    file = tmp_path / "plate.mjb"
    done = call(app, ["mjcf", "plate-spinning", "--out", str(file), "--set", "object.mass=0.25"])
    assert done.exit_code == 0, done.output
    model = mujoco.MjModel.from_binary_path(str(file))
    assert model.body("object").mass.tolist() == [0.25]
    assert start_of(model).qvel[1:4].tolist() == pytest.approx([0.0, -0.2, 0.0], abs=1e-12)
    printed = call(app, ["mjcf", "plate-spinning"])
    assert "a body of 1e+03 kg" in printed.stderr
    assert mujoco.MjModel.from_xml_string(printed.stdout).nbody == 3
    folder = tmp_path / "comparison"
    done = call(app, ["compare", "plate-spinning", "--steps", "0.002", "--duration", "0.2", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    assert "| mujoco | 2 |" in done.stdout
    assert "pybullet is left out: pybullet is not installed" in done.stdout
    assert (folder / "comparison.md").read_text() in done.stdout
    assert (folder / "comparison.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mjcf", "nothing"], "nothing"),
        pytest.param(["mjcf", "walk-flat"], "simulates bodies in contact", marks=pytest.mark.slow),
        (["mjcf", "passive-walker"], "ahead of"),
        (["mjcf", "plate-spinning", "--out", "plate.urdf"], ".xml or .mjb"),
        (["mjcf", "plate-spinning", "--contact", "soft"], "contact"),
        (["compare", "ellipse-damping"], "no policy"),
        (["compare", "plate-spinning", "--with", "bullet"], "peers"),
        (["compare", "plate-spinning", "--steps", "fast"], "--steps"),
        (["compare", "plate-spinning", "--duration", "0"], "duration"),
    ],
)
def test_bad_input_is_exit_2(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2, done.output
    assert said in done.output


def test_examples() -> None:
    from trundle.interop import comparison
    from trundle.interop import mujoco as module

    for one in (module, comparison):
        assert doctest.testmod(one, extraglobs={"tr": tr}).failed == 0
