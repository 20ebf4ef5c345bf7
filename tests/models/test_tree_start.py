from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.models.planar_robots import rover
from trundle.errors import InputError, TrundleWarning
from trundle.models.tree.touching import touch_function

POSE = {"thigh_rear": 0.5, "shin_rear": -1.0, "thigh_front": 0.5, "shin_front": -1.0}
GIVEN = {"base": (0.0, 0.62, 0.0), **POSE, "tolerance": 0.2}


def trike(trail: float = 0.05) -> tr.RollingTree:
    """A frame on two rear wheels and a steered front wheel, in space."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide")
    frame = robot.free(10.0, (0.5, 0.8, 1.0), center_of_mass=(0.3, 0, 0.4), name="frame")
    for name, y in (("left", 0.3), ("right", -0.3)):
        robot.revolute(frame, (0, y, 0.2), 1.0, shape=tr.Sphere(0.2), actuated=False, name=name)
    fork = robot.revolute(frame, (1.0, 0, 0.2), 1.0, (0.01, 0.01, 0.01), axis=(0, 0, 1), actuated=False, name="fork")
    robot.revolute(fork, (-trail, 0, 0), 1.0, shape=tr.Sphere(0.2), actuated=False, name="front")
    robot.terrain(tr.Plane(), 0.8)
    return robot.finish()


def values(tree: tr.RollingTree, start: tr.Start, name: str) -> np.ndarray:
    return start.x[tree.model(start.atlas).layout[name]]


def test_a_slip_is_the_velocity_over_the_ground() -> None:
    robot = rover(friction=0.8, on_slip="slide")
    start = robot.place(**GIVEN, slips={"wheel_rear": 0.3}, rates={"base": (0.0, 0.5, 0.0)})
    run = tr.simulate(robot, start, 1e-6, output_step=1e-6)
    np.testing.assert_allclose(run["slip"][0], [0.3, 0.0], atol=1e-12)
    assert run["mode"][0].tolist() == ["sliding", "rolling"]


def test_in_space_the_normal_part_of_a_slip_does_not_count() -> None:
    tree = trike()
    start = tree.place(slips={"left": (0.1, 0.0, 5.0)}, rates={"frame": (0, 0, 0, 1.0, 0, 0)})
    slips = [np.asarray(touch_function(tree.system, start.atlas, i)(start.x)[1]).ravel() for i in range(3)]
    np.testing.assert_allclose(slips, [[0.1, 0.0, 0.0], [0, 0, 0], [0, 0, 0]], atol=1e-12)
    assert values(tree, start, "frame.velocity")[0] == pytest.approx(1.0, abs=1e-12)


def test_components_that_are_none_follow_from_rolling() -> None:
    tree = trike()
    start = tree.place(fork=0.4, rates={"frame": (None, None, None, 1.0, None, None)})
    w, v = (values(tree, start, f"frame.{key}") for key in ("angular_velocity", "velocity"))
    # The axes of the wheels meet in a point: x = 0 of the rear ones, and the fork's axle through (1 - 0.05 cos, ...).
    trail = 1.0 - 0.05 * np.cos(0.4)
    turn = np.tan(0.4) / (trail - 0.05 * np.sin(0.4) * np.tan(0.4))
    arm = np.array([0.3, 0.0, 0.4])
    origin = v - np.cross(w, arm)
    assert origin[0] == pytest.approx(1.0, abs=1e-12)
    rate = values(tree, start, "fork.rate")[0]
    slip = rate * 0.05  # the front wheel's contact is 5 cm behind the fork's axis
    front = np.array([trail, -0.05 * np.sin(0.4)])
    velocity = np.array([1.0 - w[2] * front[1], w[2] * front[0]]) + slip * np.array([np.sin(0.4), -np.cos(0.4)])
    assert abs(np.dot(velocity, [-np.sin(0.4), np.cos(0.4)])) < 1e-12
    held = tree.place(fork=0.4, rates={"frame": (None, None, None, 1.0, None, None), "fork": 0.0})
    assert values(tree, held, "frame.angular_velocity")[2] == pytest.approx(turn, rel=1e-9)


def test_laws_of_a_start_by_the_names_of_contacts() -> None:
    tree = trike()
    start = tree.place(laws={"front": "pure-rolling"})
    assert start.laws == ("rolling", "rolling", "pure-rolling")


def test_a_wild_rate_is_named_with_what_forces_it() -> None:
    """A frame that may not turn though its fork is turned: the fork has to turn back at once."""
    tree = trike(trail=0.02)
    given = {"frame": (None, None, 0.0, 3.0, None, None)}
    with pytest.warns(TrundleWarning, match=r"gives fork a rate of .*rates\.frame = .*None"):
        start = tree.place(fork=0.4, rates=given)
    assert abs(values(tree, start, "fork.rate")[0]) == pytest.approx(3 * np.sin(0.4) / 0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.place(fork=0.4, rates={"frame": (None, None, None, 3.0, None, None)})
        tree.place(rates={"left": 5.0})


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"slips": {"nobody": 1.0}}, "slips"),
        ({"slips": {"left": 1.0}}, "slips.left"),
        ({"slips": {"left": (np.nan, 0, 0)}}, "slips.left"),
        ({"slips": {"left": (1.0, 0, 0)}, "contacts": ["right", "front"], "tolerance": 0.3}, "slips"),
        ({"laws": {"left": "sliding"}}, "laws.left"),
        ({"laws": {"nobody": "rolling"}}, "laws"),
        ({"rates": {"frame": (None, np.inf, None)}}, "rates.frame"),
        ({"rates": {"frame": (None, 1.0)}}, "rates.frame"),
    ],
)
def test_starts_that_cannot_be_say_why(arguments: dict, key: str) -> None:
    with pytest.raises(InputError) as caught:
        trike().place(**arguments)
    assert caught.value.key == key


def cart(slope: float = 0.0) -> tr.RollingTree:
    robot = tr.Robot()
    body = robot.free(2.0, 0.02, center_of_mass=(0.02, 0.03), name="body")
    for name, x in (("rear", -0.1), ("front", 0.1)):
        robot.revolute(body, (x, -0.05), 0.2, shape=tr.Circle(0.05), name=name)
    robot.terrain(tr.Line(slope), friction=0.8)
    return robot.finish()


@pytest.mark.parametrize("rear", [-4.0, 0.0])
def test_a_light_wheel_is_not_given_another_rate_than_it_was_given(rear: float) -> None:
    """-4 rad/s became -19.36: its energy is next to none of the cart's."""
    with pytest.raises(InputError, match=r"rates = \{'rear': .*rear: \(-19\.") as caught:
        cart().place(body=(0, 0.1, 0), rates={"body": (0, 1.0, 0), "rear": rear})
    assert caught.value.key == "rates"


def test_rates_that_nearly_roll_change_by_less_than_a_fifth() -> None:
    tree = cart()
    start = tree.place(body=(0, 0.1, 0), rates={"body": (0, 1.0, 0), "rear": -18.0})
    rear, v = values(tree, start, "rear.rate")[0], values(tree, start, "body.velocity")[0]
    assert rear == pytest.approx(-20 * v, abs=1e-12)
    assert abs(rear + 18) < 3.6
    assert abs(v - 1) < 0.2


def velocity_of_origin(tree: tr.RollingTree, start: tr.Start, name: str) -> np.ndarray:
    """The twist of a free body's frame (angular, linear), by its state."""
    w, v = (values(tree, start, f"{name}.{key}") for key in ("angular_velocity", "velocity"))
    arm = -np.asarray(tree.origins[name])
    turn = values(tree, start, f"{name}.orientation")
    if tree.d == 2:
        c, s = np.cos(turn[0]), np.sin(turn[0])
        r = np.array([[c, -s], [s, c]]) @ arm
        return np.concatenate((w, v - w * np.array([-r[1], r[0]])))
    r = Rotation.from_quat(np.roll(turn, -1)).as_matrix() @ arm
    return np.concatenate((w, v - np.cross(w, r)))


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_rates_are_those_that_were_given_or_refused_by_name(data: st.DataObject) -> None:
    """Any rates of any bodies: each vector and rate of the start is within a fifth of what was given, and all roll."""
    number = st.sampled_from([0.0, 1.0, -0.3, 20.0, -4.0, 1e-3])
    tree, body, pose = (CART, "body", (0, 0.1, 0)) if data.draw(st.booleans()) else (TRIKE, "frame", (0, 0, 0.02))
    k, size = (1, 3) if tree.d == 2 else (3, 6)
    joints = [name for name in tree.origins if name not in ("terrain", body)]
    rates = data.draw(st.dictionaries(st.sampled_from(joints), number, max_size=2))
    twist = data.draw(st.lists(st.none() | number, min_size=size, max_size=size))
    given = rates | ({body: tuple(twist)} if data.draw(st.booleans()) else {})
    turns = {"fork": data.draw(st.sampled_from([0.0, 0.3]))} if tree is TRIKE else {}
    start, refused = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrundleWarning)
        try:
            start = tree.place(rates=given, tolerance=0.1, **{body: pose}, **turns)
        except InputError as error:
            refused = error
    if start is None:
        assert refused is not None
        assert refused.key == "rates"
        assert set(refused.value) <= set(given)
        return
    found = {name: values(tree, start, f"{name}.rate") for name in joints} | {
        body: velocity_of_origin(tree, start, body)
    }
    largest = max(float(np.abs(value).max()) for value in found.values())
    for name, value in given.items():
        wanted = np.atleast_1d(np.array(value, dtype=object))
        for part in (range(k), range(k, size)) if name == body else (range(1),):
            where = [i for i in part if wanted[i] is not None]
            asked = wanted[where].astype(float)
            beside = 0.0
            if name == body and part == range(k):  # an angular velocity beside a velocity, contacts 0.1 or 0.4 m away
                others = [value for value in wanted[k:] if value is not None]
                beside = np.linalg.norm(np.array(others, dtype=float)) / (0.1 if tree is CART else 0.4)
            allowed = 0.2 * max(np.linalg.norm(asked), beside) + 1e-8 * largest
            assert np.linalg.norm(found[name][where] - asked) <= allowed
    closed = [i for i, law in enumerate(start.laws) if law == "rolling"]
    slips = [np.asarray(touch_function(tree.system, start.atlas, i)(start.x)[1]) for i in closed]
    assert max(float(np.abs(slip).max()) for slip in slips) <= 1e-8 * (1 + largest)


CART, TRIKE = cart(0.1), trike()
