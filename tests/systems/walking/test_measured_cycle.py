from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from tests.control.regulators.test_walk_replay import loaded
from tests.systems.walking.measured import NAMES, PLACES, recording, text
from trundle.errors import InputError
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.tracking import mean_between
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.robots.avatar import build_avatar
from trundle.systems.walking.scenario.measured.gait_data import read_gait
from trundle.systems.walking.scenario.measured.measured_cycle import measured_cycle, scaled_avatar


@pytest.fixture(scope="module")
def plan():
    return loaded("walk.npz")


@pytest.fixture(scope="module")
def walking():
    return Walking(build_avatar(), Gait())


def gait(path, columns):
    further = [NAMES[what] for what in ("heel", "toe", "shoulder")]
    return read_gait(text(path, columns), NAMES["ankle"], NAMES["knee"], "FP1", NAMES["hip"], further=further)


@pytest.fixture(scope="module", params=[0.0, 1.2], ids=["overground", "belt"])
def measured(request, plan, walking, tmp_path_factory):
    data = gait(tmp_path_factory.mktemp("gait") / "walk.txt", recording(walking, plan, belt=request.param, force=800.0))
    return data, measured_cycle(data, NAMES, 20.0)


def test_a_walks_times_and_speed_come_back(measured, plan):
    _, cycle = measured
    step, single = plan.times[-1], plan.times[16]
    assert cycle.period == pytest.approx(2 * step, abs=0.01)
    assert cycle.swing == pytest.approx(single, abs=0.011)
    assert cycle.speed == pytest.approx(1.2, abs=0.05)  # markers move forward as this foot rolls; a person's lies flat
    assert cycle.contacts == cycle.swings == 2
    assert cycle.forces[:, 1].max() == pytest.approx(800.0)


def test_segments_of_the_subject_come_back(measured):
    data, cycle = measured
    avatar, scales = scaled_avatar(data, NAMES, cycle, "male", 80.5, None)
    assert avatar.robot.mass == pytest.approx(80.5)
    for name in ("thigh", "shank", "thorax"):  # seen from the side: a roll or a yaw of 0.1 rad makes them 0.5 % shorter
        assert scales[name] == pytest.approx(1.0, abs=0.03)
    tall, _ = scaled_avatar(data, NAMES, cycle, "male", 80.5, 1.95)
    ankles = [{j.name: j.at for j in one.robot.joints}["left_ankle_pitch"][2] for one in (avatar, tall)]
    assert ankles[0] == pytest.approx(ankles[1], rel=1e-9)  # measured, whatever the stature


def test_residuals_of_the_walk_that_was_recorded_are_small(measured, plan, walking):
    """Of both legs: the left one's markers are the right one's half a cycle later."""
    _, cycle = measured
    tracking = replace(cycle.tracking(walking.weight), marker_sigma=1.0, foot_sigma=1.0)
    tracking = replace(tracking, places={n: (p[0].removeprefix("right_"), *p[1:]) for n, p in PLACES.items()})
    tracked = tracking.residuals(
        walking.model.motions, {side: (ca.SX(3, 1), ca.SX.sym(side, 3)) for side in ("left", "right")}
    )
    off = ca.Function("off", [walking.q, tracked.measured], [tracked.residuals[:24]])
    found = []
    for k in range(len(plan.times)):
        q = np.array(plan.q[k])
        q[0] -= 1.2 * plan.times[k]
        found.append(np.array(off(q, tracking.at(plan.times[k] / cycle.period, 0.002))).ravel())
    found = np.array(found)
    ups = [i for i, (*_, channel) in enumerate(tracked.names[:24]) if channel == "up"]
    assert np.abs(found[:, ups]).max() < 0.025  # m: times of events are known to 10 ms, in which a foot rises 2 cm
    forward = np.delete(found, ups, axis=1)
    assert np.abs(forward - forward.mean()).max() < 0.045


def test_data_without_a_whole_cycle_and_markers_with_gaps_are_refused(tmp_path, plan, walking):
    columns = recording(walking, plan, force=800.0)
    short = {name: column[:70] for name, column in columns.items()}
    with pytest.raises(InputError, match="data with one of each at least"):
        measured_cycle(gait(tmp_path / "short.txt", short), NAMES, 20.0)
    columns[f"{NAMES['shoulder']}.PosY"][60:80] = np.nan
    with pytest.raises(InputError, match=r"data\.markers\.shoulder.*gaps longer than 0\.1 s"):
        measured_cycle(gait(tmp_path / "gap.txt", columns), NAMES, 20.0)


def test_means_between_are_those_of_the_integral():
    share = np.arange(240) / 240
    curves = np.stack([np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)], axis=1)
    edges = np.linspace(0.8, 1.3, 9)
    exact = np.stack([-np.diff(np.cos(2 * np.pi * edges)), np.diff(np.sin(2 * np.pi * edges))], axis=1)
    exact /= 2 * np.pi * np.diff(edges)[:, None]
    np.testing.assert_allclose(mean_between(curves, edges), exact, atol=4e-4)  # trapezia of an eighth of the interval


def test_single_segments_are_scaled_and_nothing_else():
    one, other = build_avatar(), build_avatar(scales={"thigh": 1.1, "ankle_height": 0.9})
    at, to = ({joint.name: np.array(joint.at) for joint in a.robot.joints} for a in (one, other))
    changed = [name for name in at if not np.allclose(at[name], to[name])]
    assert changed == ["left_knee", "right_knee"]
    np.testing.assert_allclose(to["left_knee"], 1.1 * at["left_knee"])
    depth = [a.foot.depth for a in (one, other)]
    assert depth[1] == pytest.approx(0.9 * depth[0])
    assert other.height - one.height == pytest.approx(0.1 * 0.432 - 0.1 * 0.085)
    with pytest.raises(InputError, match="scales = 'tail'"):
        build_avatar(scales={"tail": 1.0})
