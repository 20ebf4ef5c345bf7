"""Links between a stop of their joint and the ground, and scenes of trees that once ended wrong."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from bench.survey.work import Task, tried

G = 9.81


@pytest.mark.parametrize(("foot_mass", "restitution"), [(0.2, 0.5), (0.2, 0.3), (1.5, 0.5), (0.05, 0.8)])
def test_a_foot_between_its_stop_and_the_ground_is_one_blow_after_the_other(foot_mass, restitution):
    trunk_mass, way, fall = 1.0, 0.0005, 0.2
    robot = tr.Robot(gravity=[0.0, -G], on_slip="slide", on_separation="fly")
    trunk = robot.free(trunk_mass, 0.01, name="trunk")
    foot = robot.prismatic(
        trunk, [0.0, 0.0], foot_mass, 0.001, axis=[0.0, 1.0], actuated=False, shape=tr.Circle(0.05), name="foot"
    )
    robot.resist(foot, low=-0.1, high=way)
    robot.terrain(tr.Line(), friction=0.5, restitution=restitution)
    tree = robot.finish()
    start = tree.place(trunk=[0.0, 0.05 + fall, 0.0], foot=0.0, contacts=[])
    run = tr.simulate(tree, start, 0.4)
    assert run.status is tr.Status.SUCCESS
    # The foot bounces and meets its stop, which takes the difference; both fall on to the ground as one.
    t, speed = np.sqrt(2 * fall / G), np.sqrt(2 * G * fall)
    closing = way / ((1 + restitution) * speed)
    t += closing
    foot_at = restitution * speed * closing - G * closing**2 / 2
    both = (foot_mass * restitution * speed - trunk_mass * speed) / (trunk_mass + foot_mass) - G * closing
    if both < 0:
        # There, at one instant, the ground gives back to a foot that its stop holds, the stop takes it, and so on: each
        # time the trunk keeps (M - e m) / (M + m) of its speed, which is none at last where that goes on without end.
        t += (both + np.sqrt(both**2 + 2 * G * foot_at)) / G
        ratio = (trunk_mass - restitution * foot_mass) / (trunk_mass + foot_mass)
        assert 0 < ratio < 1
        later = run.time > t + 1e-9
        assert later.any()
        np.testing.assert_allclose(run["body_velocity"][later], 0.0, atol=1e-8)
        np.testing.assert_allclose(run["body_position"][later, 0, 1], 0.05 - way, atol=1e-9)
    sooner = run.time < t
    heights = run["body_position"][sooner][:, 1, 1]
    assert heights.min() > 0.05 - 1e-9


SCENES = {
    "the axes of joints move within time steps": (301, 3),
    "two blows between two samples": (301, 45),
    "a slip starts where another contact has just opened": (301, 99),
    "a link between its stop and the ground": (301, 147),
    "a stop takes part in a blow": (311, 9),
    "lands fast within a time step": (311, 39),
    "a slip turns round within a time step": (311, 46),
    "a slip passes near zero between two samples": (311, 56),
    "a force ends in the last instant of a slip": (311, 59),
    "a stop rests by the size of the robot": (312, 8),
    "a force ends in a pole": (312, 9),
    "a link turns faster than the samples show": (312, 19),
    "slips that end together": (312, 23),
    "what touches since the last sample": (312, 51),
    "time steps of what is small": (312, 54),
    "a slip goes on against the push of its landing": (314, 29),
}
"""What was wrong, with seed and number of a scene."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", SCENES)
def test_trees_of_the_survey_break_no_law(fault):
    judged, _ = tried(Task("trees", *SCENES[fault]))
    assert judged.findings == ()
    assert judged.verdict == "right", judged.reason
