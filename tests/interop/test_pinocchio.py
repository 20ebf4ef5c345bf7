"""Rolling feet in Pinocchio's coordinates: against its own kinematics, differences, and trundle's own dynamics."""

from __future__ import annotations

import doctest
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.checks import FloatArray
from trundle.contact.laws import law_named
from trundle.errors import TrundleWarning
from trundle.extras import command
from trundle.interop.pinocchio import RollingFeet
from trundle.models.urdf.checks import check_urdf

pin = pytest.importorskip("pinocchio")

HOPPER = tr.load_urdf(Path(__file__).resolve().parents[2] / "examples" / "hopper.urdf")
SOLE = tr.Ellipsoid([0.06, 0.03, 0.02])
GRID = np.linspace(-2.0, 2.0, 21)
GROUNDS = {
    "flat": (tr.Plane(), 0.0),
    "slope": (tr.Hand(tr.Plane(), position=(0.0, 0.0, 0.1), rpy=(0.1, 0.2, 0.3)), 0.1),
    "ball": (tr.Ellipsoid([2.0, 3.0, 1.5]), 1.5),
    "bowl": (tr.Dish([3.0, 2.0, 2.0]), -2.0),
    "waves": (tr.HeightMap(GRID, GRID, 0.1 * np.sin(GRID)[:, None] * np.cos(GRID)), 0.0),
}
LAWS = ("rolling", "pure-rolling")


def biped(ground: str, law: str = "rolling") -> RollingFeet:
    feet = {
        "left": tr.Foot(SOLE, "left_shank", (0.0, 0.01, -0.25), (0.1, 0.2, 0.3), law, friction=0.6),
        "right": tr.Foot(tr.Sphere(0.03), "right_shank", (0.0, 0.0, -0.25), law=law),
    }
    return RollingFeet(HOPPER, feet, GROUNDS[ground][0])


def state(feet: RollingFeet, ground: str, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """A configuration near the ground, not on it, and a velocity that slips."""
    rng = np.random.default_rng(seed)
    model = feet.model
    q = pin.integrate(model, feet.neutral, np.r_[0.05 * rng.normal(size=3), 0.2 * rng.normal(size=model.nv - 3)])
    q[2] += GROUNDS[ground][1] + 0.52
    return q, rng.normal(size=model.nv)


def by_q(feet: RollingFeet, q: FloatArray, of: Callable[[FloatArray], FloatArray], h: float = 1e-5) -> FloatArray:
    """The derivative in the tangent space, by central differences; the last axis is dq."""
    steps = h * np.eye(feet.model.nv)
    ends = [(of(pin.integrate(feet.model, q, e)), of(pin.integrate(feet.model, q, -e))) for e in steps]
    return np.stack([(after - before) / (2 * h) for after, before in ends], axis=-1)


@pytest.mark.parametrize("ground", GROUNDS)
def test_j_v_is_the_velocity_of_the_material_point_at_the_contact(ground: str) -> None:
    feet = biped(ground)
    q, v = state(feet, ground)
    rows, model, data = feet.rows(q, v), feet.model, feet.model.createData()
    pin.forwardKinematics(model, data, q)
    for i, one in enumerate(feet.contacts):
        in_joint = data.oMi[one.joint].actInv(rows.point[i])
        ends, h = [], 1e-6
        for sign in (1, -1):
            pin.forwardKinematics(model, data, pin.integrate(model, q, sign * h * v))
            ends.append(data.oMi[one.joint].act(in_joint))
        pin.forwardKinematics(model, data, q)
        np.testing.assert_allclose(rows.J[feet.split[one.name]] @ v, (ends[0] - ends[1]) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("ground", GROUNDS)
def test_the_contact_point_is_the_foots_nearest_to_the_ground(ground: str) -> None:
    feet, below = biped(ground), GROUNDS[ground][0]
    rows = feet.rows(*state(feet, ground))
    hand = below if isinstance(below, tr.Hand) else tr.Hand(below)
    R, p = np.array(hand.R_world_hand), np.array(hand.position)
    for i, point in enumerate(rows.point[:, None]):
        distance, normal = hand.shape.distance((point - p) @ R)
        assert distance[0] == pytest.approx(rows.gap[i], abs=1e-7)
        np.testing.assert_allclose(R @ normal[0], rows.frame[i, :, 2], atol=1e-6)
        np.testing.assert_allclose(rows.frame[i].T @ rows.frame[i], np.eye(3), atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_bias_is_the_rate_of_j_v_along_any_motion(ground: str, law: str) -> None:
    feet = biped(ground, law)
    q, v = state(feet, ground)
    a, h, model = np.random.default_rng(2).normal(size=feet.model.nv), 1e-5, feet.model
    ends = [
        feet.rows(pin.integrate(model, q, t * v + 0.5 * t * t * a), v).J @ (v + t * a) for t in (h, -h)
    ]  # to second order
    rows = feet.rows(q, v)
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), rows.J @ a + rows.bias, atol=1e-7)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_slopes_are_those_of_differences(ground: str, law: str) -> None:
    feet = biped(ground, law)
    q, v = state(feet, ground)
    slopes, h = feet.slopes(q, v), 1e-5
    np.testing.assert_allclose(slopes.J_q, by_q(feet, q, lambda q: feet.rows(q, v).J), atol=1e-8)
    np.testing.assert_allclose(slopes.bias_q, by_q(feet, q, lambda q: feet.rows(q, v).bias), atol=1e-7)
    np.testing.assert_allclose(slopes.gap_q, by_q(feet, q, lambda q: feet.rows(q, v).gap), atol=1e-8)
    ends = [(feet.rows(q, v + h * e).bias, feet.rows(q, v - h * e).bias) for e in np.eye(feet.model.nv)]
    differences = np.stack([(after - before) / (2 * h) for after, before in ends], axis=-1)
    np.testing.assert_allclose(slopes.bias_v, differences, atol=1e-7)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_functions_of_casadi_are_the_same_from_another_multibody_code(ground: str, law: str) -> None:
    feet = biped(ground, law)
    q, v = state(feet, ground)
    functions, rows, model = feet.functions(), feet.rows(q, v), feet.model
    rng = np.random.default_rng(3)
    a, force = rng.normal(size=model.nv), rng.normal(size=feet.size)
    s = [feet.coordinates(q)] if functions.size else []
    np.testing.assert_allclose(np.array(functions.J(q, *s)), rows.J, atol=1e-12)
    np.testing.assert_allclose(np.array(functions.bias(q, v, *s)).ravel(), rows.bias, atol=1e-11)
    np.testing.assert_allclose(np.array(functions.gap(q, *s)).ravel(), rows.gap, atol=1e-12)
    np.testing.assert_allclose(np.array(functions.frame(q, *s)), np.hstack(rows.frame), atol=1e-11)
    if s:
        np.testing.assert_allclose(np.array(functions.alignment(q, *s)), 0.0, atol=1e-12)
    tau = pin.rnea(model, model.createData(), q, v, a) - rows.J.T @ force
    np.testing.assert_allclose(np.array(functions.inverse_dynamics(q, v, a, force, *s)).ravel(), tau, atol=1e-11)
    moved = np.array(functions.integrate(q, 0.3 * v)).ravel()
    np.testing.assert_allclose(moved, pin.integrate(model, q, 0.3 * v), atol=1e-13)
    margins = feet.margins(q, force)
    expected = [value for name, value in margins.items() if not name.endswith(".gap")]
    np.testing.assert_allclose(np.array(functions.margins(q, force, *s)).ravel(), expected, atol=1e-12)
    assert [margins["left.gap"], margins["right.gap"]] == pytest.approx(rows.gap.tolist())


def test_margins_are_the_friction_cone() -> None:
    feet = biped("flat")
    q, _ = state(feet, "flat")
    margins = feet.margins(q, [3.0, 4.0, 10.0, 0.0, 0.0, 2.0])
    assert margins["left.normal_force"] == pytest.approx(10.0)
    assert margins["left.friction"] == pytest.approx(0.6 * 10.0 - 5.0)
    assert margins["right.friction"] == pytest.approx(2.0)


def test_derivatives_of_the_moved_base_are_finite_at_rest() -> None:
    functions = biped("flat").functions()
    q, step = ca.SX.sym("q", 13), ca.SX.sym("dq", 12)
    slope = ca.Function("slope", [q, step], [ca.jacobian(functions.integrate(q, step), step)])
    at = np.array(slope(np.r_[np.zeros(6), 1.0, np.zeros(6)], np.zeros(12)))
    np.testing.assert_allclose(at[3:6, 3:6], np.eye(3) / 2, atol=1e-14)
    assert np.isfinite(at).all()


@pytest.mark.parametrize("ground", ["flat", "bowl"])
def test_constrained_accelerations_are_those_that_simulate_integrates(ground: str) -> None:
    feet = biped(ground)
    pads = {"left": feet._feet["left"], "right": feet._feet["right"]}
    robot = tr.robot_from_urdf(HOPPER, pads, GROUNDS[ground][0], on_slip="ignore", on_separation="ignore")
    height = GROUNDS[ground][1] + 0.52
    bent = {"left_thigh": -0.1, "left_shank": 0.2, "right_thigh": 0.1, "right_shank": 0.15}
    rates = {"trunk": (0.3, 0.5, 0.2, 0.2, 0.1, 0.0)}
    with pytest.warns(TrundleWarning, match="forces it"):
        start = robot.place(trunk=(0.0, 0.0, height), tolerance=0.2, rates=rates, **bent)
    run = tr.simulate(robot, start, duration=0.1)
    assert run.status is tr.Status.SUCCESS
    system = robot.system
    for time in (0.0, 0.05, 0.1):
        at = tr.start_at(run, time)
        model = system.model(at.atlas)
        dynamics = model.dynamics([law_named(name) for name in at.laws])
        rate = np.array(ca.Function("rate", [model.x, model.u], [dynamics.nudot])(at.x, 0.0)).ravel()
        q, v = at.x[: feet.model.nq].copy(), np.zeros(feet.model.nv)
        q[3:7] = np.roll(q[3:7], -1)
        R = pin.Quaternion(q[3:7]).toRotationMatrix()
        nu = at.x[-feet.model.nv :]
        v[:3], v[3:6], v[6:] = R.T @ nu[3:6], R.T @ nu[:3], nu[6:]
        rows, data = feet.rows(q, v), feet.model.createData()
        assert np.abs(rows.J @ v).max() < 1e-9
        M = pin.crba(feet.model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h, m = pin.nonLinearEffects(feet.model, data, q, v), feet.size
        kkt = np.block([[M, -rows.J.T], [rows.J, np.zeros((m, m))]])
        a = np.linalg.solve(kkt, -np.r_[h, rows.bias])[: feet.model.nv]
        world = np.r_[R @ a[3:6], R @ (a[:3] + np.cross(v[3:6], v[:3])), a[6:]]
        np.testing.assert_allclose(world, rate, rtol=1e-9, atol=1e-9)


ARM = """<robot name="arm"><link name="rail"/>
  <link name="car"><inertial><mass value="2"/>
    <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0 0 -.1"/><mass value="1"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="car"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
  <joint name="turn" type="continuous"><parent link="car"/><child link="rod"/>
    <origin rpy=".1 .2 0"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_a_fixed_base_and_continuous_joints() -> None:
    model = pin.buildModelFromXML(check_urdf(ARM).text)
    model.armature = np.array([0.3, 0.2])
    feet = RollingFeet(model, {"tip": tr.Foot(SOLE, "rod", (0.0, 0.0, -0.3))}, tr.Hand(tr.Plane(), (0.0, 0.0, -0.4)))
    q, v, a = pin.integrate(model, pin.neutral(model), np.array([0.2, 0.4])), np.array([0.5, 1.5]), np.array([1.0, 2.0])
    functions, rows = feet.functions(), feet.rows(q, v)
    assert (model.nq, rows.J.shape) == (3, (3, 2))
    np.testing.assert_allclose(np.array(functions.J(q)), rows.J, atol=1e-14)
    np.testing.assert_allclose(np.array(functions.bias(q, v)).ravel(), rows.bias, atol=1e-13)
    tau = pin.rnea(model, model.createData(), q, v, a) - rows.J.T @ [1.0, 2.0, 3.0]
    np.testing.assert_allclose(np.array(functions.inverse_dynamics(q, v, a, [1.0, 2.0, 3.0])).ravel(), tau, atol=1e-13)
    np.testing.assert_allclose(np.array(functions.integrate(q, v)).ravel(), pin.integrate(model, q, v), atol=1e-14)
    np.testing.assert_allclose(feet.slopes(q, v).J_q, by_q(feet, q, lambda q: feet.rows(q, v).J), atol=1e-8)


def test_a_name_that_a_link_shares_with_a_joint_is_the_links() -> None:
    feet = RollingFeet(HOPPER, {"left_hip": tr.Foot(SOLE, position=(0.0, 0.0, -0.5))})
    assert feet.model.names[feet.contacts[0].joint] == "left_spread"
    np.testing.assert_allclose(np.array(feet.functions().J(feet.neutral)), feet.rows(feet.neutral, np.zeros(12)).J)


def test_a_flat_foot_touches_with_its_corners() -> None:
    feet = RollingFeet(
        HOPPER,
        {
            "sole": tr.Foot(
                tr.FlatPatch([[0.05, 0.03], [-0.05, 0.03], [-0.05, -0.03], [0.05, -0.03]]),
                "left_shank",
                (0.0, 0.0, -0.25),
            )
        },
    )
    rows = feet.rows(feet.neutral, np.zeros(12))
    assert list(feet.split) == ["sole-1", "sole-2", "sole-3", "sole-4"]
    np.testing.assert_allclose(rows.point[0] - rows.point[2], [0.1, 0.06, 0.0], atol=1e-12)
    np.testing.assert_allclose(np.array(feet.functions().J(feet.neutral)), rows.J, atol=1e-14)


@pytest.mark.parametrize(
    ("feet", "ground", "says"),
    [
        ({"tip": tr.Foot(SOLE, "toe")}, None, r"feet\.tip\.frame = 'toe': must be one of .*left_shank"),
        ({"toe": tr.Foot(SOLE)}, None, r"feet\.toe\.frame = 'toe'"),
        ({"tip": tr.Foot(SOLE, "universe")}, None, r"feet\.tip\.frame = 'universe': must be a frame that moves"),
        ({"tip": tr.Foot(tr.Torus(0.1, 0.02), "trunk")}, None, r"feet\.tip\.shape = Torus.*: must be a convex shape"),
        ({"tip": tr.Foot(tr.Capsule(0.1, 0.2), "trunk")}, tr.Sphere(1.0), "smooth convex shape"),
        ({"tip": tr.Foot(SOLE, "trunk")}, tr.Hand(tr.Plane(), twist=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0)), "must be still"),
        ({"tip": tr.Foot(SOLE, "trunk")}, tr.Circle(1.0), "a Shape of dimension 3"),
        ({}, None, "a mapping of names to Foot"),
        ({"tip": SOLE}, None, "a mapping of names to Foot"),
    ],
)
def test_what_cannot_be_is_refused(feet: dict[str, tr.Foot], ground: tr.Shape | tr.Hand | None, says: str) -> None:
    with pytest.raises(tr.InputError, match=says):
        RollingFeet(HOPPER, feet, ground)


def test_wrong_states_and_models_are_refused() -> None:
    feet = biped("ball")
    with pytest.raises(tr.InputError, match=r"robot = .*: must be a pinocchio\.Model"):
        RollingFeet("hopper.urdf", {"left": tr.Foot(SOLE, "trunk")})  # type: ignore[arg-type]
    with pytest.raises(tr.InputError, match=r"q = .*: must be an array of 13 finite numbers"):
        feet.rows(np.zeros(12), np.zeros(12))
    with pytest.raises(tr.InputError, match="v = "):
        feet.rows(feet.neutral, np.full(12, np.nan))
    with pytest.raises(tr.InputError, match="forces = "):
        feet.margins(feet.neutral, [0.0])


def test_a_joint_that_trundle_has_not_is_refused_by_functions_alone() -> None:
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    model.addFrame(pin.Frame("tip", joint, 0, pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.3])), pin.FrameType.OP_FRAME))
    feet = RollingFeet(model, {"tip": tr.Foot(SOLE)}, tr.Hand(tr.Plane(), (0.0, 0.0, -0.4)))
    q, v = pin.integrate(model, feet.neutral, np.array([0.1, 0.2, 0.3])), np.array([0.4, 0.5, 0.6])
    slopes = feet.slopes(q, v)
    np.testing.assert_allclose(slopes.bias_q, by_q(feet, q, lambda q: feet.rows(q, v).bias), atol=1e-8)
    with pytest.raises(tr.InputError, match=r"joint\[ball\] = .*: must be revolute, continuous or prismatic"):
        feet.functions()


def test_feet_can_be_sent_to_another_process() -> None:
    feet = biped("ball")
    q, v = state(feet, "ball")
    again = pickle.loads(pickle.dumps(feet))
    np.testing.assert_array_equal(again.rows(q, v).bias, feet.rows(q, v).bias)


def test_without_pinocchio_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(tr.errors.MissingExtraError, match=re.escape(command("robots"))):
        RollingFeet(HOPPER, {"left": tr.Foot(SOLE, "left_shank")})


def test_interop_is_found_by_attribute() -> None:
    assert tr.interop.pinocchio.RollingFeet is RollingFeet
    assert dir(tr.interop) == ["comparison", "crocoddyl", "mujoco", "pinocchio"]
    with pytest.raises(AttributeError, match="has no attribute 'pinochio'"):
        _ = tr.interop.pinochio


def test_the_example_of_the_docstring_runs() -> None:
    test = doctest.DocTestParser().get_doctest(RollingFeet.__doc__ or "", {}, "RollingFeet", None, None)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0
