"""Laws that give forces in plans and in the optimiser: what is found there is what the simulator does."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import law_named
from trundle.errors import InputError

BALL = tr.RigidBody(tr.Sphere(0.1), mass=1.0)


class Play:
    """Inputs (N, n_u), each held for a period (s)."""

    def __init__(self, inputs: np.ndarray, period: float) -> None:
        self.inputs, self.period = inputs, period

    def reset(self) -> None:
        """Nothing to forget."""

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        return self.inputs[min(round(t / self.period), len(self.inputs) - 1)]


def transfer(**coefficients: Any) -> tr.juggling.Transfer:
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), **coefficients)
    return tr.juggling.Transfer(pair, {}, {"contact_on_hand": (0.1, 0.0, 0.0)}, duration=1.0, hand_limits={"tilt": 0.3})


@pytest.mark.parametrize(
    "smooth",
    [
        {"rolling_viscosity": 0.02, "adhesion": 1.0},
        {"forces": [tr.Force("object", lambda t, states: ca.sin(3 * t) - 0.5 * states["object"].velocity)]},
    ],
    ids=["viscous", "wind"],
)
def test_a_plan_counts_on_smooth_laws_and_forces(smooth: dict[str, Any]) -> None:
    task = transfer(**smooth)
    found = tr.juggling.plan(task, nodes=15)
    assert found.status is tr.Status.SUCCESS
    times = (np.arange(1000) + 0.5) * found.duration / 1000
    reference = found.reference
    inputs = np.stack([np.interp(times, reference.times, column) for column in reference.inputs.T], axis=1)
    ends = [
        tr.simulate(pair, pair.place(), found.duration, policy=Play(inputs, found.duration / 1000))["contact_on_hand"][
            -1
        ]
        for pair in (task.pair, transfer().pair)
    ]
    np.testing.assert_allclose(ends[0], [0.1, 0.0, 0.0], atol=2e-4)
    assert np.linalg.norm(ends[1] - ends[0]) > 5e-3  # a plan that did not know them would miss its goal


@pytest.mark.parametrize("name", ["rolling_friction", "drilling_friction"])
def test_a_plan_refuses_what_has_no_derivative(name: str) -> None:
    with pytest.raises(InputError, match=rf"^{name} = 0.001: must be 0 for plans and feedback"):
        tr.juggling.plan(transfer(**{name: 1e-3}))


def test_the_optimiser_catches_a_ball_on_a_compliant_hand() -> None:
    apart = []
    for stages, step in ((200, 1e-3), (400, 5e-4)):
        disc = tr.RigidBody(tr.Circle(0.1), mass=0.5)
        soft = {"law": "hunt-crossley", "stiffness": 2e3, "dissipation": 1.0, "friction": 0.0}
        pair = tr.RollingPair(disc, tr.Hand(tr.Line()), **soft)
        model = pair.system.model()
        rate = model.dynamics([law_named(pair.law)]).xdot
        ball, hand = (model.x[model.layout[name]] for name in ("object.velocity", "hand.twist"))
        effort = tr.optimal.Cost(residual=model.u, weights=1e-3 * step)
        stopped = tr.optimal.Cost(residual=ca.vertcat(ball, hand))
        after, jacobian = tr.optimal.midpoint(rate, model.x, model.u, step)
        problem = tr.optimal.ControlProblem(
            model.x, model.u, ca.SX.sym("p", 0), after, effort, stopped, stages, step_jacobian=jacobian
        )
        start = pair.place(object_position=(0.0, 0.11), object_velocity=(0.0, -0.5))
        guess = tr.optimal.Guess(np.zeros((stages, 3)), np.tile(start.x, (stages + 1, 1)))
        found = tr.optimal.Optimiser(problem).solve(start.x, [], guess)
        assert found.status is tr.Status.SUCCESS
        assert abs(found.states[-1, model.layout["object.velocity"]][1]) < 0.13  # it came with 1.0 m/s

        run = tr.simulate(pair, start, stages * step, policy=Play(found.inputs, step))
        assert run.status is tr.Status.SUCCESS
        assert run["gap"].min() < -0.02
        apart.append(np.abs(run["object_position"][-1, 2] - found.states[-1, model.layout["object.position"]][1]))
    assert apart[0] < 5e-6
    assert apart[1] < 0.4 * apart[0]  # of the midpoint rule alone
