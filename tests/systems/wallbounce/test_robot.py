"""The ball balancer against Lagrange's equations, against MuJoCo and against its own formulas."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from tests.oracles import ball_balancer as oracle
from trundle.errors import InputError
from trundle.systems.wallbounce.robot import BallBalancer, angle_rates, body_rotation

ROBOT = BallBalancer(com=(0.02, -0.01, 0.45))


def numbers(robot):
    return {f.name: getattr(robot, f.name) for f in dataclasses.fields(robot)}


def functions(robot):
    x, u = ca.SX.sym("x", 16), ca.SX.sym("u", 15)
    given = (x, u[:2], u[2], [u[3:6], u[6:9]], u[9:])
    floor = robot.floor(*given)
    hands = robot.hands(x)
    speeds = robot.hand_velocities(x, u[9:])
    outputs = [robot.rate(*given), ca.vertcat(*floor), ca.horzcat(*(r for r, _ in hands)), ca.horzcat(*speeds)]
    return ca.Function("balancer", [x, u], outputs)


def momenta(robot, angles, v, omega):
    a, b, c = ca.SX.sym("a", 3), ca.SX.sym("b", 2), ca.SX.sym("c", 3)
    return np.array(ca.Function("m", [a, b, c], [robot.momenta(a, b, c)])(angles, v, omega)).ravel()


@pytest.fixture(scope="module")
def model():
    return functions(ROBOT)


def draw(rng):
    q = rng.uniform([-2, -2, -3, -1.5, -3], [2, 2, 3, 1.5, 3])
    qd, joints = rng.normal(size=5), rng.uniform(-1, 2, 6)
    u = np.concatenate([rng.normal(size=2) * 20, rng.normal(size=1) * 3, rng.normal(size=6) * 20, rng.normal(size=6)])
    return q, qd, joints, u


def lagrange_error(model, count=200):
    """Return the largest error of rates, momenta's rates and floor force over random states, relative above 1."""
    rng, worst = np.random.default_rng(0), np.zeros(5)
    for _ in range(count):
        q, qd, joints, u = draw(rng)
        truth = oracle.motion(numbers(ROBOT), q, qd, joints, u[:2], u[2], [u[3:6], u[6:9]])
        x = np.concatenate([q, joints, truth["l"], truth["h"]])
        rate, floor, *_ = (np.array(v).ravel() for v in model(x, u))
        pairs = [
            (rate[:5], qd),
            (rate[11:13], truth["l_dot"]),
            (rate[13:], truth["h_dot"]),
            (floor, truth["floor"]),
            (rate[5:11], u[9:]),
        ]
        # rates of the angles grow without bound near 90 degrees of pitch: errors relative to the values there
        errors = [np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b))) for a, b in pairs]
        worst = np.maximum(worst, errors)
    return float(np.max(worst))


def test_dynamics_are_those_of_lagrange(model):
    assert lagrange_error(model) <= 1e-10


def test_hands_and_their_velocities(model):
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, qd, joints, u = draw(rng)
        truth = oracle.motion(numbers(ROBOT), q, qd, joints, u[:2], u[2], [u[3:6], u[6:9]])
        x = np.concatenate([q, joints, truth["l"], truth["h"]])
        places, speeds = (np.array(v) for v in model(x, u)[2:])
        for i, side in enumerate((1, -1)):
            part = slice(3 * i, 3 * i + 3)

            def place(z, side=side):
                return oracle.hand(numbers(ROBOT), z[:5], z[5:], side) + np.array([z[0], z[1], 0 * z[0]])

            z = np.concatenate([q, joints[part]])
            slope = oracle.gradient(place, z) @ np.concatenate([qd, u[9:][part]])
            assert places[:, i] == pytest.approx(place(z) - [q[0], q[1], 0], abs=1e-13)
            assert speeds[:, i] == pytest.approx(slope, rel=1e-9, abs=1e-9)


def test_momenta_as_written():
    rng = np.random.default_rng(2)
    angles, v, w = rng.normal(size=3), rng.normal(size=2), rng.normal(size=3)
    R = oracle.orientation(np.array([0, 0, *angles]))
    c, m = R @ ROBOT.com, ROBOT.mass
    I_O = R @ np.diag(ROBOT.inertia) @ R.T + m * (c @ c * np.eye(3) - np.outer(c, c))
    exact = [*(ROBOT.effective_mass * v + m * np.cross(w, c)[:2]), *(I_O @ w + m * np.cross(c, [*v, 0]))]
    assert momenta(ROBOT, angles, v, w) == pytest.approx(exact, rel=1e-13)
    simple = dataclasses.replace(ROBOT, form="simplified")
    assert momenta(simple, angles, v, w) == pytest.approx([*(m * v), *(I_O @ w)], rel=1e-13)


@pytest.mark.parametrize("form", ["exact", "simplified"])
def test_rolling_without_turning_has_the_momenta_of_its_velocity(form):
    robot, v = dataclasses.replace(ROBOT, form=form), np.array([[2.0, 0.0], [-0.3, 0.7]])
    expected = [momenta(robot, np.zeros(3), one, np.zeros(3)) for one in v]
    assert robot.rolling(v) == pytest.approx(np.array(expected), abs=1e-12)
    assert robot.rolling(v[1]) == pytest.approx(expected[1], abs=1e-12)


@pytest.mark.parametrize("form", ["exact", "simplified"])
def test_velocities_are_the_inverse_of_momenta(form):
    robot, rng = dataclasses.replace(ROBOT, form=form), np.random.default_rng(3)
    x = ca.SX.sym("x", 16)
    state = ca.Function("s", [x], [robot.state(x).v, robot.state(x).omega])
    for _ in range(10):
        angles, v, w = rng.normal(size=3), rng.normal(size=2), rng.normal(size=3)
        found = state(np.concatenate([[0, 0], angles, np.zeros(6), momenta(robot, angles, v, w)]))
        assert np.concatenate([np.array(f).ravel() for f in found]) == pytest.approx([*v, *w], rel=1e-11, abs=1e-12)


def test_simplified_dynamics_as_written():
    robot, rng = dataclasses.replace(ROBOT, form="simplified"), np.random.default_rng(4)
    model = functions(robot)
    q, _, joints, u = draw(rng)
    x = np.concatenate([q, joints, rng.normal(size=5)])
    rate, floor, places, _ = (np.array(v) for v in model(x, u))
    f_b, forces = np.array([u[0], u[1], 0]), [u[3:6], u[6:9]]
    c, flat = oracle.orientation(q) @ robot.com, np.array([1.0, 1.0, 0.0])
    total = f_b + flat * (forces[0] + forces[1])
    moment = np.cross([0, 0, -robot.ball_radius], f_b) + np.cross(c, [0, 0, -robot.mass * robot.gravity])
    moment += np.cross(oracle.orientation(q) @ oracle.arms(numbers(robot), joints), [0, 0, -robot.gravity])
    moment += sum(np.cross(places[:, i], forces[i]) for i in (0, 1)) - np.cross(c, total) + [0, 0, u[2]]
    assert rate.ravel()[11:13] == pytest.approx(total[:2], rel=1e-13)
    assert rate.ravel()[13:] == pytest.approx(moment, rel=1e-12)
    assert rate.ravel()[:2] == pytest.approx(x[11:13] / robot.mass, rel=1e-14)
    assert floor.ravel()[:2] == pytest.approx(u[:2])


def test_both_forms_agree_where_the_simplification_holds():
    """Slow, balanced: the drive and a hand push against each other and nothing accelerates."""
    robot = BallBalancer()
    x = robot.rest()
    u = np.zeros(15)
    exact, simple = (np.array(functions(dataclasses.replace(robot, form=f))(x, u)[0]) for f in ("exact", "simplified"))
    assert exact == pytest.approx(np.zeros((16, 1)), abs=1e-12)
    assert simple == pytest.approx(exact, abs=1e-12)


def test_rest_is_upright_and_its_floor_carries_the_weight():
    robot = BallBalancer()
    floor = np.array(functions(robot)(robot.rest([1.0, 2.0], 0.3), np.zeros(15))[1]).ravel()
    assert floor == pytest.approx([0, 0, (robot.mass + robot.ball_mass) * robot.gravity], abs=1e-10)
    table = np.zeros(15)
    table[[5, 8]] = 30.0  # both hands pushed up: the floor is unloaded
    assert functions(robot)(robot.rest(), table)[1][2] < floor[2] - 60.0 + 1e-6


def test_rates_of_angles_turn_the_body():
    a, w = ca.SX.sym("a", 3), ca.SX.sym("w", 3)
    R = body_rotation(a)
    turned = ca.reshape(ca.jtimes(ca.vec(R), a, angle_rates(a, w)), 3, 3) - ca.skew(w) @ R
    error = ca.Function("e", [a, w], [turned])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert np.array(error(rng.normal(size=3), rng.normal(size=3))) == pytest.approx(np.zeros((3, 3)), abs=1e-11)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"mass": 0.0}, "mass"),
        ({"inertia": (1.0, 1.0, 3.0)}, "inertia"),
        ({"inertia": (1.0, -1.0, 1.0)}, "inertia"),
        ({"com": (0.0, np.nan, 0.0)}, "com"),
        ({"form": "linear"}, "form"),
        ({"joint_lower": (2.0, 0.0, 0.0)}, "joint_lower"),
        ({"floor_friction": -0.1}, "floor_friction"),
        ({"arm_masses": (0.8,)}, "arm_masses"),
        ({"arm_masses": (0.8, 0.0)}, "arm_masses"),
        ({"hand_radius": 0.0}, "hand_radius"),
    ],
)
def test_wrong_numbers_are_named(change, key):
    with pytest.raises(InputError, match=key):
        BallBalancer(**change)


def test_a_robot_is_a_file(tmp_path):
    file = tmp_path / "robot.toml"
    file.write_text('[robot]\nmass = 40\ncom = [0.0, 0.0, 0.6]\nform = "simplified"\n')
    robot = BallBalancer.read(file)
    wanted = dataclasses.replace(BallBalancer(), mass=40.0, com=(0.0, 0.0, 0.6), form="simplified")
    assert repr(robot) == repr(wanted)


@pytest.mark.parametrize(
    ("text", "key"),
    [("[robot]\nmas = 3", "mas"), ("[robot]\nmass = -3", "mass"), ("mass = 3", "table"), ("[robot", "TOML")],
)
def test_a_wrong_file_is_named(tmp_path, text, key):
    file = tmp_path / "robot.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=key) as caught:
        BallBalancer.read(file)
    assert "robot.toml" in str(caught.value)


XML = """
<mujoco><option timestep="2e-5" gravity="0 0 -{gravity}" integrator="implicitfast" cone="elliptic" impratio="100"
  tolerance="1e-12" iterations="100"/>
<default><geom condim="4" friction="1.2 0.5 0" solref="0.002 1" solimp="0.99 0.999 0.0001"/></default>
<worldbody><geom type="plane" size="5 5 .1"/>
<body name="body" pos="0 0 {ball_radius}"><freejoint/>
  <inertial pos="{com[0]} {com[1]} {com[2]}" mass="{mass}" diaginertia="{inertia[0]} {inertia[1]} {inertia[2]}"/>
  <body name="ball"><joint type="ball"/><inertial pos="0 0 0" mass="{ball_mass}"
    diaginertia="{ball_inertia} {ball_inertia} {ball_inertia}"/><geom type="sphere" size="{ball_radius}"/></body>
</body></worldbody></mujoco>
"""


def mujoco_difference():
    """Return differences of rotation, 1, and place, m, and the way, m, of 0.2 s open loop.

    A free body on a ball with frictional floor, with drive, yaw torque and a push at a hand.
    """
    mujoco = pytest.importorskip("mujoco")
    robot = BallBalancer()
    plant = mujoco.MjModel.from_xml_string(XML.format(**numbers(robot)))
    data = mujoco.MjData(plant)
    drive, yaw, push, where = np.array([8.0, -5.0]), 0.4, np.array([-6.0, 4.0, 3.0]), np.array([0.1, 0.2, 0.7])
    for _ in range(2000):  # the floor gives way a little before the run begins
        data.qvel[:] = 0.0
        mujoco.mj_step(plant, data)
    data.qpos[:2], data.qvel[:], data.time = 0.0, 0.0, 0.0
    start = data.qpos.copy()
    r_b, body = robot.ball_radius, mujoco.mj_name2id(plant, mujoco.mjtObj.mjOBJ_BODY, "body")
    torque = r_b * np.cross([0, 0, 1], [*drive, 0]) - np.array([0, 0, yaw])
    for _ in range(10000):
        mujoco.mj_forward(plant, data)
        R = data.xmat[body].reshape(3, 3)
        ball = data.xmat[body + 1].reshape(3, 3)
        data.qfrc_applied[:] = 0.0
        data.qfrc_applied[6:9] = ball.T @ torque
        data.qfrc_applied[:3] = push
        data.qfrc_applied[3:6] = R.T @ np.cross(R @ where, push)
        mujoco.mj_step(plant, data)
    x, steps = robot.rest(), 2000
    s, h = ca.SX.sym("x", 16), 0.2 / steps
    # the same push as a force at the left hand and the moment that is left over
    R = body_rotation(s[2:5])
    r = robot.hands(s)[0][0]
    rate = robot.rate(s, ca.DM(drive), yaw, [ca.DM(push), ca.DM.zeros(3)], ca.DM.zeros(6))
    rate[13:] += ca.cross(R @ ca.DM(where) - r, ca.DM(push))
    step = ca.Function("f", [s], [rate])
    for _ in range(steps):
        k1 = np.array(step(x)).ravel()
        x = x + h * np.array(step(x + 0.5 * h * k1)).ravel()
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, data.qpos[3:7])
    truth = np.array(ca.Function("R", [s], [R])(x))
    turn, way = turned.reshape(3, 3) - truth, data.qpos[:2] - start[:2] - x[:2]
    return tuple(float(np.max(np.abs(value))) for value in (turn, way, x[:2]))


@pytest.mark.slow
def test_mujoco_moves_the_same_way():
    turn, place, way = mujoco_difference()
    assert turn <= 2e-4
    assert place <= 2e-4
    assert way > 1e-3
