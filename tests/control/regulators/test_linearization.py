"""The error's dynamics: A and B are the derivatives of the true flow, whatever the shapes, law and charts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.control.cases import flow, rate_function
from trundle.control.regulators.linearization import Linearization
from trundle.control.regulators.local_error import LocalError
from trundle.errors import InputError

HANDS = {"plane": tr.Plane(), "ellipsoid": tr.Ellipsoid((0.2, 0.3, 0.25)), "dish": tr.Dish((0.3, 0.35, 0.4))}


SMOOTH = {
    "viscous": {"rolling_viscosity": 2e-3, "drilling_viscosity": 1e-3, "adhesion": 0.5},
    "wind": {"forces": [tr.Force("object", lambda t, states: ca.sin(3 * t) - 0.4 * states["object"].velocity)]},
    "spring": {"forces": [tr.Potential(lambda t, states: 5 * ca.sumsqr(states["object"].position))]},
}


def pair_on(hand: str, law: str, **more: object) -> tr.RollingPair:
    body = tr.RigidBody(tr.Ellipsoid((0.05, 0.04, 0.03)), mass=0.2)
    return tr.RollingPair(body, tr.Hand(HANDS[hand]), law=law, **more)


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
@pytest.mark.parametrize("hand", HANDS)
def test_matrices_are_derivatives_of_the_flow(hand, law):
    assert_derivatives(LocalError(pair_on(hand, law)), 20 if law == "rolling" else 19)


@pytest.mark.parametrize("kind", SMOOTH)
def test_so_they_are_with_smooth_laws_and_external_forces(kind):
    assert_derivatives(LocalError(pair_on("ellipsoid", "rolling", **SMOOTH[kind])), 20)


@pytest.mark.parametrize("name", ["rolling_friction", "drilling_friction"])
def test_laws_without_a_derivative_are_refused(name):
    error = LocalError(pair_on("plane", "rolling", **{name: 1e-3}))
    with pytest.raises(InputError, match=rf"^{name} = 0.001: must be 0 for plans and feedback"):
        Linearization(error).along(np.zeros((1, error.model.x.shape[0])), np.zeros((1, 6)))


def assert_derivatives(error, size):
    model, rate = error.model, rate_function(error)
    rng = np.random.default_rng(4)
    x, u = 0.3 * rng.normal(size=model.x.shape[0]), rng.normal(size=6)
    A, B, X = (part[0] for part in Linearization(error).with_directions(x[None], u[None]))
    assert A.shape == (error.size, error.size) == (size, size)
    h, step = 1e-4, 1e-5

    def error_rate(at, by):
        """d/dt of the error of (at, by) against (x, u), by differences of the flow in time."""
        ends = [
            error.between(*(error.of_reference(flow(rate, *z, s * h)) for z in ((x, u), (at, by)))) for s in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * h)

    for i in range(error.size):
        found = (error_rate(x + step * X[:, i], u) - error_rate(x - step * X[:, i], u)) / (2 * step)
        np.testing.assert_allclose(A[:, i], found, atol=5e-6 * np.abs(A).max())
    for i, unit in enumerate(np.eye(6)):
        found = (error_rate(x, u + step * unit) - error_rate(x, u - step * unit)) / (2 * step)
        np.testing.assert_allclose(B[:, i], found, atol=5e-6 * np.abs(B).max())


def test_directions_are_those_of_the_error():
    error = LocalError(pair_on("ellipsoid", "rolling"))
    rng = np.random.default_rng(5)
    x = 0.3 * rng.normal(size=error.model.x.shape[0])
    x[3:7] /= np.linalg.norm(x[3:7])
    _, _, X = (part[0] for part in Linearization(error).with_directions(x[None], np.zeros((1, 6))))
    for i in range(error.size):
        e = error.between(error.of_reference(x), error.of_reference(x + 1e-6 * X[:, i]))
        np.testing.assert_allclose(e, 1e-6 * np.eye(error.size)[i], atol=1e-10)


def test_a_singular_state_is_refused():
    error = LocalError(pair_on("plane", "rolling"))
    with pytest.raises(InputError, match="states"):
        Linearization(error).along(np.full((1, error.model.x.shape[0]), np.nan), np.zeros((1, 6)))
