"""Gradients by one sweep back: those that sensitivities give forward, through changes of mode."""

import numpy as np
import pytest

import trundle as tr
from bench.sensitivities import SCENES


@pytest.mark.parametrize(
    "name", ["stops", "cart", *(pytest.param(n, marks=pytest.mark.slow) for n in SCENES if n not in ("stops", "cart"))]
)
def test_the_gradient_back_is_that_forward(name: str) -> None:
    scene = SCENES[name]
    model, start = scene.build()
    options = {"parameters": scene.parameters, "inputs": scene.policy is not None, "policy": scene.policy}
    derived = tr.sensitivities(model, start, scene.duration, output_step=scene.duration / 3, **options)
    weights = np.random.default_rng(0).normal(size=derived.states.shape)

    def cost(times: np.ndarray, states: np.ndarray) -> tuple[float, np.ndarray]:
        return float(np.sum(weights * states**2)), 2.0 * weights * states

    found = tr.gradient(model, start, scene.duration, cost, output_step=scene.duration / 3, **options)
    forward = np.einsum("nx,nxm->m", 2.0 * weights * derived.states, derived.derivatives)
    assert found.names == derived.names
    assert np.abs(found.derivatives - forward).max() < 1e-6 * np.abs(forward).max()


def test_feedback_counts_in_both_directions() -> None:
    robot = tr.Robot()
    robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0.0, -0.2), name="arm")
    tree = robot.finish()
    law = tr.LinearFeedback(0.1, np.full((10, 1), 0.2), gains=[[2.0, 0.3]], states=[0.5, 0.0], low=-0.9, high=0.9)
    options = {"parameters": ["arm.mass"], "inputs": True, "policy": law}
    derived = tr.sensitivities(tree, tree.place(arm=0.1), 1.0, **options)
    h, numbers = 1e-5, {"arm.mass": 1.0}
    runs = [
        tr.simulate(tr.with_parameters(tree, {"arm.mass": 1.0 + e}), tree.place(arm=0.1), 1.0, policy=law)
        for e in (h, -h)
    ]
    by_mass = (runs[0].samples[-1].states[-1] - runs[1].samples[-1].states[-1]) / (2 * h)
    np.testing.assert_allclose(derived.derivatives[-1][:, derived.names.index("arm.mass")], by_mass, rtol=1e-6)
    assert numbers.items() <= tr.parameters_of(tree).items()

    def last(times: np.ndarray, states: np.ndarray) -> tuple[float, np.ndarray]:
        by_states = np.zeros_like(states)
        by_states[-1, 0] = 1.0
        return float(states[-1, 0]), by_states

    found = tr.gradient(tree, tree.place(arm=0.1), 1.0, last, **options)
    np.testing.assert_allclose(found.derivatives, derived.derivatives[-1][0], rtol=1e-7, atol=1e-10)
