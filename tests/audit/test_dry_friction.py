"""Joints with dry friction whose inputs are held between samples: what turns round slowly is no fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from tests.audit.runs import Run, evidence
from trundle.audit import audit_run
from trundle.status import Status


def test_dry_friction_that_turns_round_under_held_inputs_is_consistent() -> None:
    """Where stretches have two or three samples their quadrature does not see how the friction bends."""
    robot = tr.Robot(gravity=(0.0, -9.81))
    trunk = robot.free(425.0, 11.2, shape=tr.Circle(0.213), name="trunk")
    swung = robot.revolute(trunk, (0.459, -0.265), 149.0, 6.95, center_of_mass=(0.0, -0.297), name="swung")
    robot.resist(swung, stiffness=23600.0, rest=-0.141, damping=6.39)
    at, center = (-0.459, -0.265), (0.0, -0.24)
    slid = robot.prismatic(swung, at, 75.2, 3.28, axis=(0.0, 1.0), center_of_mass=center, name="slid")
    robot.resist(slid, low=-0.416, high=0.337, damping=29.0)
    rubbed = robot.revolute(trunk, (0.0, -0.265), 131.0, 1.1, actuated=False, shape=tr.Circle(0.172), name="rubbed")
    robot.resist(rubbed, dry_friction=125.0)
    robot.terrain(tr.Line(), friction=0.8)
    tree = robot.finish()
    rates = {"trunk": (0.0, -0.168, -0.233)}
    start = tree.place(trunk=(0.0, 2.34, 2.4), swung=0.0, slid=0.0, rubbed=0.0, contacts=[], rates=rates)
    rate = tree.model().layout["slid.rate"]

    def drive(_: float, x: np.ndarray) -> np.ndarray:
        return np.array([-78.6, np.clip(129.0 * (-4.22 - x[rate][0]), -738.0, 738.0)])

    run = tr.simulate(tree, start, 0.14, policy=tr.FunctionPolicy(0.0035, drive), output_step=0.0028)
    assert run.status is Status.SUCCESS, run.metadata["audit"]["findings"]


def _swings() -> Run:
    """A pendulum that the friction of its hinge brakes until it hangs still beside its lowest place."""
    robot = tr.Robot()
    rod = robot.revolute(None, (0, 0), 1.0, 0.02, center_of_mass=(0.5, 0.0), actuated=False, name="rod")
    robot.resist(rod, dry_friction=1.0)
    tree = robot.finish()
    return tree, tree.place(rod=-0.5), 3.0, None


@pytest.mark.parametrize(("factor", "turns"), [(0.99, True), (-1.0, True), (1.5, False)])
def test_friction_of_a_joint_that_is_not_its_law_is_found(factor: float, turns: bool) -> None:
    """While the joint turns all of the bound acts against it; while it rests no more than that."""
    system, told = evidence(_swings())
    assert not audit_run(system, told).findings
    moves = np.abs(told.samples.rates[:, 0]) > 1e-3
    row = np.flatnonzero(moves if turns else ~moves)[-5]
    force = told.samples.force.copy()
    force[row] = force[row] * factor if turns else factor * np.sign(force[row])
    planted = replace(told, samples=replace(told.samples, force=force))
    assert "friction of joints" in {finding.law for finding in audit_run(system, planted).findings}
