"""An arm that carries the hand: its expressions against Pinocchio, postures found and refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.numerics.space import rotation
from trundle.systems.juggling.arm.arm import ArmModel
from trundle.systems.juggling.arm.arm_numbers import ArmNumbers

pin = pytest.importorskip("pinocchio")
G = np.array([0.0, 0.0, -9.81])
LINKS = {"ur5_robot": "tool0", "panda": "panda_hand", "kinova": "j2s6s200_end_effector", "xarm7": "link7"}
SLIDING = """<robot name="gantry">
<link name="base"><inertial><mass value="5"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="cart"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
<link name="wrist"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 1 0"/>
<origin xyz="0 0 1" rpy="0.2 0 0.5"/><limit lower="-1" upper="1" effort="50" velocity="2"/></joint>
<joint name="turn" type="revolute"><parent link="cart"/><child link="wrist"/><axis xyz="0 0 1"/>
<origin xyz="0.3 0 0" rpy="0 0.4 0"/><limit lower="-1" upper="1" effort="5" velocity="3"/></joint></robot>"""


def arm(name: str = "ur5_robot", **more) -> tr.juggling.Arm:
    urdf = tr.load_example_robot(name) if name in LINKS else tr.models.urdf.checks.check_urdf(SLIDING)
    given = {"position": (0.1, 0.2, 0.3), "rpy": (0.1, -0.2, 0.3), "hand_position": (0.0, 0.03, 0.02)}
    plate = {"mass": 0.5, "center_of_mass": (0.01, 0.0, -0.02), "inertia": (1e-3, 2e-3, 2.5e-3)}
    return tr.juggling.Arm(urdf, LINKS.get(name, "wrist"), **{**given, "hand_rpy": (0.3, 0.1, -1.0), **plate, **more})


class Oracle:
    """Pinocchio's model of the same, built here."""

    def __init__(self, of: tr.juggling.Arm) -> None:
        self.base = pin.SE3(pin.rpy.rpyToMatrix(np.array(of.rpy)), np.array(of.position))
        self.model = model = pin.buildModelFromXML(of.chain.text)
        model.gravity.linear = self.base.rotation.T @ G
        link = model.getFrameId(of.link, pin.FrameType.BODY)
        joint = model.frames[link].parentJoint
        held = pin.SE3(pin.rpy.rpyToMatrix(np.array(of.hand_rpy)), np.array(of.hand_position))
        place = model.frames[link].placement * held
        inertia = pin.Inertia(of.mass, np.array(of.center_of_mass), np.diag(of.inertia))
        model.appendBodyToJoint(joint, inertia, place)
        self.frame = model.addFrame(pin.Frame("plate", joint, link, place, pin.FrameType.OP_FRAME))
        self.data = model.createData()

    def full(self, q: np.ndarray) -> np.ndarray:
        return pin.integrate(self.model, pin.neutral(self.model), q)

    def values(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrench: np.ndarray) -> list[np.ndarray]:
        pin.forwardKinematics(self.model, self.data, self.full(q), v, a)
        pin.updateFramePlacements(self.model, self.data)
        place = self.base * self.data.oMf[self.frame]
        moving = (pin.getFrameVelocity, pin.getFrameAcceleration)
        twists = [at(self.model, self.data, self.frame, pin.LOCAL).vector for at in moving]
        J = pin.computeFrameJacobian(self.model, self.data, self.full(q), self.frame, pin.LOCAL_WORLD_ALIGNED)
        turn = self.base.rotation.T
        load = J.T @ np.concatenate([turn @ wrench[3:], turn @ wrench[:3]])
        torque = pin.rnea(self.model, self.data, self.full(q), v, a) - load
        return [place.translation, place.rotation, *(np.roll(t, 3) for t in twists), torque]


@pytest.mark.parametrize("name", [*LINKS, "gantry"])
def test_pose_twist_its_rate_and_torques_are_pinocchios(name: str) -> None:
    one = arm(name)
    model, wrench = ArmModel(one, G), ca.SX.sym("wrench", 6)
    outputs = [model.position, model.R, model.twist, model.twist_rate, model.torque(wrench), model.orientation]
    f = ca.Function("f", [model.q, model.rate, model.acceleration, wrench], outputs)
    oracle, rng, n = Oracle(one), np.random.default_rng(3), len(one.joints)
    assert list(oracle.model.names)[1:] == list(one.joints)
    for _ in range(5):
        at = [rng.normal(size=size) for size in (n, n, n, 6)]
        *found, orientation = (np.asarray(value) for value in f(*at))
        for value, expected in zip(found, oracle.values(*at), strict=True):
            np.testing.assert_allclose(value.ravel(), expected.ravel(), atol=1e-12)
        turned = np.asarray(ca.DM(rotation(ca.SX(ca.DM(orientation)))))
        np.testing.assert_allclose(turned, found[1], atol=1e-13)


def test_the_orientation_is_smooth_through_whole_turns() -> None:
    one = arm(rpy=(0.0, 0.0, 0.0))
    model = ArmModel(one, G)
    f = ca.Function("f", [model.q], [model.orientation])
    angles = np.linspace(-6.0, 6.0, 200)
    path = np.array([np.asarray(f(np.array([a, -1.0, 1.0, a, 0.3, -a]))).ravel() for a in angles])
    assert np.max(np.linalg.norm(np.diff(path, axis=0), axis=1)) < 0.15
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1.0, atol=1e-13)


def test_numbers_agree_and_a_posture_is_found_within_the_margin() -> None:
    one = arm("panda", posture={"panda_joint4": -1.8, "panda_joint6": 2.0})
    assert len(one.joints) == 7  # the fingers are held
    numbers, oracle = ArmNumbers(one, G), Oracle(one)
    R, p = numbers.pose(one.start)
    q = numbers.reach(R, p + np.array([0.02, 0.05, -0.03]))
    place = oracle.values(q, q * 0, q * 0, np.zeros(6))
    np.testing.assert_allclose(place[0], p + np.array([0.02, 0.05, -0.03]), atol=1e-9)
    np.testing.assert_allclose(place[1], R, atol=1e-9)
    lower, upper = one.usable
    assert np.all((lower <= q) & (q <= upper))
    middle = np.array([(oracle.model.lowerPositionLimit + oracle.model.upperPositionLimit) / 2]).ravel()
    np.testing.assert_allclose(lower, middle - 0.95 * (middle - oracle.model.lowerPositionLimit))


def test_following_a_path_of_the_hand_gives_the_joints_back() -> None:
    one = arm("kinova", posture={"j2s6s200_joint_2": 2.5, "j2s6s200_joint_3": 1.3, "j2s6s200_joint_5": 1.8})
    numbers = ArmNumbers(one, G)
    t = np.linspace(0.0, 1.0, 30)[:, None]
    q = one.start + np.sin(t) * np.array([0.5, 0.2, -0.3, 0.4, 0.2, -1.0])
    rate = np.cos(t) * np.array([0.5, 0.2, -0.3, 0.4, 0.2, -1.0])
    oracle = Oracle(one)
    places = [oracle.values(a, v, v * 0, np.zeros(6)) for a, v in zip(q, rate, strict=True)]
    found = numbers.follow(np.array([p[1] for p in places]), np.array([p[0] for p in places]), q[0])
    np.testing.assert_allclose(found, q, atol=1e-8)
    np.testing.assert_allclose(numbers.rates(q, np.array([p[2] for p in places])), rate, atol=1e-8)


def test_what_the_arm_does_not_reach_names_place_or_joint() -> None:
    one = arm(position=(0, 0, 0), rpy=(0, 0, 0))
    numbers = ArmNumbers(one, G)
    with pytest.raises(InputError, match=r"arm.position.*reaches the hand at \(3, 0, 0.5\) m, which it misses by 2"):
        numbers.reach(np.eye(3), np.array([3.0, 0.0, 0.5]))
    narrow = SLIDING.replace('lower="-1" upper="1" effort="50"', 'lower="-1" upper="0.1" effort="50"')
    gantry = tr.juggling.Arm(tr.models.urdf.checks.check_urdf(narrow), "wrist")
    wide = ArmNumbers(tr.juggling.Arm(tr.models.urdf.checks.check_urdf(SLIDING), "wrist"), G)
    with pytest.raises(InputError, match=r"arm.posture.slide = 0.4.* from -0.9725 to 0.0725 .* where the hand starts"):
        ArmNumbers(gantry, G).reach(*wide.pose(np.array([0.4, 0.3])))


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"link": "nothing"}, "link"),
        ({"link": "base_link"}, "link"),
        ({"posture": {"elbow": 1.0}}, "posture.elbow"),
        ({"posture": {"elbow_joint": 4.0}}, "posture.elbow_joint"),
        ({"margin": 0.0}, "margin"),
        ({"mass": -1.0}, "mass"),
        ({"inertia": (1.0, 1.0, 5.0)}, "inertia"),
        ({"urdf": "ur5.urdf"}, "urdf"),
        ({"hand_position": (0.0, 1.0)}, "hand_position"),
    ],
)
def test_an_arm_refuses_what_it_cannot_be(given: dict, key: str) -> None:
    with pytest.raises(InputError) as raised:
        tr.juggling.Arm(**({"urdf": tr.load_example_robot("ur5_robot"), "link": "tool0"} | given))
    assert raised.value.key == key
