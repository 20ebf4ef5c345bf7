"""The avatar: its table, masses, stature, symmetry, joints, and its text read back by another library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.geometry import Ellipsoid
from trundle.models.urdf.checks import check_urdf
from trundle.models.urdf.description import JointDescription, LinkDescription, LinkInertia, RobotDescription
from trundle.systems.walking.robots.avatar import SEXES, Avatar, _inertia, _tables, build_avatar
from trundle.systems.walking.robots.avatar_feet import Toes

BODIES = [("male", None, None), ("female", None, None), ("male", 62.0, 1.60), ("female", 80.0, 1.83)]


@pytest.fixture(params=BODIES, ids=str)
def avatar(request: pytest.FixtureRequest) -> Avatar:
    return build_avatar(*request.param)


def inertia_of(avatar: Avatar, name: str) -> LinkInertia:
    inertia = next(link.inertia for link in avatar.robot.links if link.name == name)
    assert inertia is not None
    return inertia


def test_the_layout_of_the_joints(avatar: Avatar) -> None:
    joints = avatar.robot.joints
    assert (avatar.robot.dof, len(joints), avatar.robot.base) == (29, 23, "pelvis")
    of = lambda text: [j.name for j in joints if text in j.name]  # noqa: E731
    assert of("trunk") == ["trunk_yaw", "trunk_roll", "trunk_pitch"]
    leg = [n for n in of("left") if "hip" in n or "knee" in n or "ankle" in n]
    assert [n.removeprefix("left_") for n in leg] == [
        "hip_roll", "hip_yaw", "hip_pitch", "knee", "ankle_pitch", "ankle_roll",
    ]  # fmt: skip
    arm = [n.removeprefix("right_") for n in of("right") if "shoulder" in n or "elbow" in n]
    assert arm == ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow"]
    axis_of = {"yaw": (0, 0, 1), "roll": (1, 0, 0), "pitch": (0, 1, 0)}
    for joint in joints:
        assert joint.axis == axis_of.get(joint.name.split("_")[-1], (0, 1, 0))


def test_mass_and_stature_are_those_given() -> None:
    avatar = build_avatar("female", 71.5, 1.702)
    assert avatar.robot.mass == pytest.approx(71.5, rel=1e-13)
    assert avatar.height == pytest.approx(1.702, rel=1e-13)
    places = avatar.robot.places()
    sole = places["left_foot"][2] + avatar.foot.flat[0, 2]
    head = (1.702 / build_avatar("female").height) * (0.429 + 0.221)
    assert head - sole == pytest.approx(1.702, rel=1e-12)
    assert avatar.base_height == pytest.approx(-sole, rel=1e-12)


@pytest.mark.parametrize(("sex", "mass", "stature"), [("male", 80.5, 1.77), ("female", 63.9, 1.61)])
def test_the_segments_of_the_table_stack_to_the_stature_of_its_people(sex: str, mass: float, stature: float) -> None:
    avatar = build_avatar(sex)
    assert avatar.mass == mass
    assert avatar.robot.mass == pytest.approx(mass, rel=1e-13)
    assert avatar.height == pytest.approx(stature, abs=0.015)


def test_fractions_of_the_table_sum_to_almost_one() -> None:
    pairs = {"arm", "forearm", "hand", "thigh", "shank", "foot"}
    sums = {
        sex: sum(row["mass"] * (1 + (name in pairs)) for name, row in _tables()[sex]["segments"].items())
        for sex in SEXES
    }
    assert sums == pytest.approx({"male": 0.996, "female": 0.999}, abs=1e-12)


def test_the_hip_is_as_far_from_l5s1_as_the_table_says() -> None:
    for sex, slack in (("male", 1e-3), ("female", 3e-4)):
        x, _, z = _tables()[sex]["places"]["hip"]
        assert math.hypot(x, z) == pytest.approx(_tables()[sex]["segments"]["pelvis"]["length"], abs=slack)


def test_every_body_is_possible_and_the_womens_thorax_alone_is_not(avatar: Avatar) -> None:
    for link in avatar.robot.links:
        if link.inertia is not None:
            low, middle, high = np.linalg.eigvalsh(link.inertia.tensor)
            assert low > 0
            assert low + middle > 1.02 * high
    impossible = []
    for sex in SEXES:
        for name, row in _tables()[sex]["segments"].items():
            low, middle, high = np.linalg.eigvalsh(_inertia(row, 1.0, 1.0).tensor)
            if low + middle < high:
                impossible.append((sex, name, (high - low - middle) / high))
    assert [(sex, name) for sex, name, _ in impossible] == [("female", "thorax")]
    assert impossible[0][2] == pytest.approx(0.105, abs=5e-4)


def test_left_and_right_mirror_each_other_and_the_middle_itself(avatar: Avatar) -> None:
    S = np.diag([1.0, -1.0, 1.0])
    by_name = {joint.name: joint for joint in avatar.robot.joints}
    for name in ("thigh", "shank", "foot", "arm", "forearm"):
        left, right = inertia_of(avatar, f"left_{name}"), inertia_of(avatar, f"right_{name}")
        np.testing.assert_array_equal(left.com, S @ right.com)
        np.testing.assert_array_equal(left.tensor, S @ right.tensor @ S)
        assert left.mass == right.mass
    for name in ("pelvis", "trunk"):
        inertia = inertia_of(avatar, name)
        assert inertia.com[1] == inertia.tensor[0, 1] == inertia.tensor[1, 2] == 0.0
    for name, left in by_name.items():
        if name.startswith("left_"):
            right = by_name["right_" + name.removeprefix("left_")]
            np.testing.assert_array_equal(left.at, S @ np.array(right.at))
            same = left.axis[1] == 1.0
            assert (left.lower, left.upper) == ((right.lower, right.upper) if same else (-right.upper, -right.lower))


def test_masses_are_the_fractions_of_the_table() -> None:
    avatar = build_avatar("male", 99.6)
    assert inertia_of(avatar, "left_thigh").mass == pytest.approx(12.3)
    assert inertia_of(avatar, "left_forearm").mass == pytest.approx(1.7 + 0.6)
    assert inertia_of(avatar, "trunk").mass == pytest.approx(33.3 + 6.7)
    shank = inertia_of(avatar, "right_shank")
    np.testing.assert_allclose(shank.com, np.array([-0.048, -0.007, -0.410]) * 0.433)
    np.testing.assert_allclose(np.diag(shank.tensor), 4.5 * (np.array([0.28, 0.28, 0.10]) * 0.433) ** 2)
    # the avatar's xz is the table's XY, its xy minus XZ and its yz minus YZ: y points left, Z right
    np.testing.assert_allclose(shank.tensor[0, 2], -4.5 * (0.04 * 0.433) ** 2)
    np.testing.assert_allclose(shank.tensor[0, 1], 4.5 * (0.02 * 0.433) ** 2)
    np.testing.assert_allclose(shank.tensor[1, 2], -4.5 * (0.05 * 0.433) ** 2)


def test_inertia_scales_with_mass_and_the_square_of_the_height() -> None:
    one, other = build_avatar("male", 70.0, 1.7), build_avatar("male", 84.0, 1.87)
    for a, b in zip(one.robot.links, other.robot.links, strict=True):
        if a.inertia is not None and b.inertia is not None:
            np.testing.assert_allclose(b.inertia.tensor, 1.2 * 1.21 * a.inertia.tensor, rtol=1e-12, atol=1e-15)


def test_the_mens_foot_is_the_sheets() -> None:
    foot = build_avatar("male").foot
    np.testing.assert_allclose(foot.sole.semi_axes, [0.145, 0.055, 0.045])
    np.testing.assert_allclose(foot.center, [0.055, 0.0, -0.040], atol=1e-15)
    np.testing.assert_allclose(foot.flat.min(axis=0), [-0.06, -0.045, -0.085])
    np.testing.assert_allclose(foot.flat.max(axis=0), [0.18, 0.045, -0.085])


def test_the_sole_of_both_feet_is_the_ground(avatar: Avatar) -> None:
    ankle = avatar.base_height + avatar.robot.places()["right_foot"][2]
    assert ankle - avatar.foot.depth == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(ankle + avatar.foot.flat[:, 2], 0.0, atol=1e-12)


def test_parts_joined_keep_mass_first_and_second_moments() -> None:
    rng = np.random.default_rng(1)
    parts = [LinkInertia(m, rng.normal(size=3), np.diag([1.0, 1.2, 1.4])) for m in (2.0, 3.0)]
    both = parts[0].plus(parts[1])
    assert both.mass == 5.0
    np.testing.assert_allclose(5.0 * both.com, 2.0 * parts[0].com + 3.0 * parts[1].com)
    origin = np.zeros(3)
    np.testing.assert_allclose(both.about(origin), parts[0].about(origin) + parts[1].about(origin))


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("robot",), "sex"), (("male", 0.0), "mass"), (("male", float("nan")), "mass"), (("male", 80, -1.8), "height"),
        (("male", 80, float("inf")), "height"), (("male", "80"), "mass"), ((None,), "sex"),
    ],
)  # fmt: skip
def test_wrong_people_are_refused(arguments: tuple, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build_avatar(*arguments)
    assert caught.value.key == key


def joint(**changes: object) -> JointDescription:
    values = {"at": (0, 0, 0), "axis": (0, 1, 0), "lower": -1.0, "upper": 1.0, "torque": 1.0, "rate": 1.0} | changes
    return JointDescription("hinge", "a", "b", **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"axis": (0, 0, 0)}, "axis"), ({"lower": 2.0}, "upper"), ({"torque": -1.0}, "torque"),
        ({"at": (0, 0, float("nan"))}, "at"), ({"rate": float("nan")}, "rate"),
    ],
)  # fmt: skip
def test_a_wrong_joint_is_refused(changes: dict, key: str) -> None:
    with pytest.raises(InputError) as caught:
        joint(**changes)
    assert caught.value.key == f"joint[hinge].{key}"


def test_a_description_is_a_tree_of_possible_links() -> None:
    links = (LinkDescription("a"), LinkDescription("b"))
    with pytest.raises(InputError, match="different names"):
        RobotDescription("r", (links[0], links[0]), (joint(),))
    with pytest.raises(InputError, match="one joint a link"):
        RobotDescription("r", links, ())
    with pytest.raises(InputError, match="an earlier link"):
        RobotDescription("r", (LinkDescription("c"), links[1]), (joint(),))
    with pytest.raises(InputError, match=r"link\[a\].inertia"):
        LinkDescription("a", LinkInertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))


def test_the_text_passes_the_checks(avatar: Avatar) -> None:
    checked = check_urdf(avatar.robot.urdf())
    assert checked.root == "pelvis"
    assert checked.links == tuple(link.name for link in avatar.robot.links)
    assert set(checked.joints) == {joint.name for joint in avatar.robot.joints}
    assert set(checked.joints.values()) == {"revolute"}


def test_another_library_reads_the_same_robot(avatar: Avatar) -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(avatar.robot.urdf(), pin.JointModelFreeFlyer())
    assert (model.nv, model.njoints) == (29, 25)
    assert pin.computeTotalMass(model) == pytest.approx(avatar.mass, rel=1e-12)
    for joint in avatar.robot.joints:
        number = model.getJointId(joint.name)
        inertia = next(link.inertia for link in avatar.robot.links if link.name == joint.child)
        read = model.inertias[number]
        if inertia is None:
            assert read.mass == 0.0
        else:
            assert read.mass == pytest.approx(inertia.mass, rel=1e-14)
            np.testing.assert_allclose(read.lever, inertia.com, atol=1e-15)
            np.testing.assert_allclose(read.inertia, inertia.tensor, atol=1e-15)
        i = model.idx_qs[number] - 7
        assert model.lowerPositionLimit[7 + i] == joint.lower
        assert model.upperPositionLimit[7 + i] == joint.upper
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    pin.updateFramePlacements(model, data)
    for name, place in avatar.robot.places().items():
        np.testing.assert_allclose(data.oMf[model.getFrameId(name)].translation, place, atol=1e-12)


TOES = Toes(Ellipsoid([0.06, 0.045, 0.03]), (0.12, 0.0, -0.055), (0.11, 0.0, -0.05), mass=0.12)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_foot_and_its_toes_in_line_are_the_foot_of_the_table(side: str) -> None:
    own, jointed = build_avatar(), build_avatar().with_toes(TOES)
    rest, toes = inertia_of(jointed, f"{side}_foot"), inertia_of(jointed, f"{side}_toe_foot")
    whole, both = inertia_of(own, f"{side}_foot"), rest.plus(toes.shift(np.array(TOES.joint)))
    assert toes.mass == 0.12
    assert both.mass == pytest.approx(whole.mass, rel=1e-14)
    np.testing.assert_allclose(both.com, whole.com, atol=1e-15)
    np.testing.assert_allclose(both.tensor, whole.tensor, atol=1e-17)
    a, b, c = 0.06, 0.045, 0.03  # of a solid ellipsoid
    np.testing.assert_allclose(toes.tensor, 0.12 / 5 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2]), atol=1e-17)


def test_toes_hang_on_a_hinge_across_the_foot_without_a_motor() -> None:
    avatar = build_avatar().with_toes(TOES)
    assert avatar.robot.dof == 31
    left, right = avatar.robot.joints[-2:]
    assert (left.name, left.parent, left.child) == ("left_toe", "left_foot", "left_toe_foot")
    assert (left.at, left.axis, left.torque) == (TOES.joint, (0.0, 1.0, 0.0), 0.0)
    assert right.name == "right_toe"
    assert list(avatar.feet) == ["left", "left_toe", "right_toe", "right"]
    np.testing.assert_allclose(avatar.feet["left_toe"].center, [0.01, 0.0, -0.005])


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"mass": 1.0}, "mass"), ({"mass": 0.9}, "tensor|inertia"), ({"stiffness": -1.0}, "stiffness")],
)
def test_toes_that_no_foot_has_are_refused(settings: dict[str, float], key: str) -> None:
    with pytest.raises(InputError, match=key):
        build_avatar().with_toes(Toes(TOES.sole, TOES.center, TOES.joint, **settings))
