"""Feet suggested from collision geometry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.models.urdf.checks import CheckedUrdf, check_urdf, load_urdf
from trundle.models.urdf.tree import FramePlace
from trundle.systems.walking.robots.soles import _foot, missing_limits, suggest_feet

STRIDER = Path(__file__).parents[3] / "examples" / "data" / "strider.urdf"
BOX = '<box size="0.18 0.08 0.03"/>'


def robot(geometry: str = BOX, place: str = "0.03 0 -0.045") -> CheckedUrdf:
    text = STRIDER.read_text()
    assert BOX in text
    before = f'<collision><origin xyz="0.03 0 -0.045"/><geometry>{BOX}</geometry></collision>'
    after = "".join(
        f'<collision><origin xyz="{at}"/><geometry>{geometry}</geometry></collision>' for at in place.split(";")
    )
    return check_urdf(text.replace(before, after))


def test_the_underside_of_a_box_is_a_flat_foot_a_tenth_smaller() -> None:
    foot = suggest_feet(robot(), ["left_foot"])["left_foot"]
    assert isinstance(foot.shape, FlatPatch)
    assert foot.shape.half_sides == pytest.approx((0.081, 0.036))
    assert foot.position == pytest.approx((0.03, 0.0, -0.06))
    assert foot.rpy == pytest.approx((0.0, 0.0, 0.0))


def test_a_sphere_is_the_foot_as_it_is_and_four_are_the_corners_of_a_sole() -> None:
    one = suggest_feet(robot('<sphere radius="0.02"/>'), ["left_foot"])["left_foot"]
    assert (one.shape, one.position) == (tr.Sphere(0.02), pytest.approx((0.03, 0.0, -0.045)))
    corners = ";".join(f"{x} {y} -0.05" for x in (-0.05, 0.1) for y in (-0.03, 0.03))
    four = suggest_feet(robot('<sphere radius="0.005"/>', corners), ["left_foot"])["left_foot"]
    assert isinstance(four.shape, FlatPatch)
    assert four.shape.half_sides == pytest.approx((0.9 * 0.075, 0.9 * 0.03))
    assert four.position == pytest.approx((0.025, 0.0, -0.055))


def test_a_stick_touches_like_a_ball_and_a_link_without_geometry_gets_a_small_one() -> None:
    stick = suggest_feet(robot('<cylinder radius="0.01" length="0.08"/>'), ["left_foot"])["left_foot"]
    assert stick.shape == tr.Sphere(0.01)
    assert stick.position == pytest.approx((0.03, 0.0, -0.045 - 0.04 + 0.01))
    bare = suggest_feet(robot(place="0 0 0"), ["left_hip"])["left_hip"]
    assert isinstance(bare.shape, tr.Sphere)
    with pytest.raises(InputError, match="feet"):
        suggest_feet(robot(), ["left_toe"])


def test_limits_that_are_missing_are_told_by_the_joints_name() -> None:
    text = STRIDER.read_text().replace('lower="0" upper="2.2" effort="60"', 'lower="0" upper="2.2" effort="0"')
    assert missing_limits(check_urdf(text), ["left_knee", "left_hip_yaw"]) == ["joint left_knee: no torque limit"]
    assert missing_limits(load_urdf(STRIDER), load_urdf(STRIDER).joints) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_lowest_point_of_a_blade_is_no_matter_of_round_off(seed: int) -> None:
    """A runner of two edges, 20 cm long and 2 mm wide, lies on both ends."""
    blade = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-1e-3, 1e-3) for z in (0.0, 0.05)])
    still = FramePlace(np.eye(3), np.zeros(3))
    foot = _foot("runner", still, [], blade)
    noise = 1e-17 * np.random.default_rng(seed).standard_normal(blade.shape)
    assert _foot("runner", still, [], blade + noise).position == pytest.approx(foot.position, abs=1e-12)
