"""The stepping core in C: memory for any number of points, batches, counts of evaluations."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.cores import choose
from trundle.numerics.compiled.compile import find_compiler
from trundle.numerics.ode import native, ode
from trundle.numerics.ode.batch import Pieces, integrate_batch
from trundle.numerics.ode.ode import Integrator, OdeSystem
from trundle.status import Status

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
T, X, P = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p")


def thrust(**how) -> Integrator:
    """A body on a line, x = (position, velocity), pushed by the acceleration p; its margin is the position."""
    rate, margins = (
        ca.Function(name, [T, X, P], [e]) for name, e in (("rate", ca.vertcat(X[1], P)), ("margins", X[0]))
    )
    return Integrator(OdeSystem(rate, margins), "dopri5", **how)


@pytest.mark.parametrize("points", [0, 1, 2, 7])
def test_the_smallest_margin_of_a_rise_is_that_of_its_start(points):
    run = thrust(event_points=points).integrate(0.0, [1.0, 5.0], 0.5, -9.81)
    assert run.margin_minimum.tolist() == [1.0]
    assert run.event is None


@pytest.mark.parametrize("way", ["compiler", "cores"])
def test_each_run_of_a_batch_has_its_start_and_all_its_pieces(way, cores, monkeypatch):
    choose(way, cores, monkeypatch)
    native._core.cache_clear()  # the core is loaded once more: what its calls take is declared then
    ends, none = np.array([1.0, 2.0]), np.full(1, np.inf)
    pieces = Pieces(ends, np.array([[[1.0], [-1.0]]]), None, None, -none, none)
    settings = {"step": 0.0, "relative_tolerance": 1e-10, "min_step": 0.0, "max_step": np.inf}
    x, how = (
        np.array([[0.5, 0.0], [3.0, 1.0]]),
        {"absolute_tolerance": 1e-12, "arming_tolerance": np.full(1, 1e-9), "sample_times": ends, "workers": 1},
    )
    most, watched = np.full(2, 1000), np.ones(1, dtype=bool)
    found = integrate_batch(
        thrust(), 0.0, x, np.zeros((2, 1)), pieces, settings=settings, most=most, watched=watched, **how
    )
    assert found is not None
    assert found.statuses == (Status.SUCCESS, Status.SUCCESS)
    np.testing.assert_allclose(found.x_end, [[1.5, 0.0], [6.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(found.samples[:, 0], [[1.0, 1.0], [4.5, 2.0]], atol=1e-12)


def test_evaluations_of_what_is_interpreted_are_counted_once(monkeypatch):
    told = []
    monkeypatch.setattr(ode, "WORTH_COMPILING", 0)
    monkeypatch.setattr(native, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(ode._Functions, "count_evaluations", lambda _, evaluations: told.append(evaluations))
    run = thrust().integrate(0.0, [1.0, 0.0], 1.0, 1.0, max_step=0.005)
    assert len(told) > 3
    assert sum(told) == run.evaluations
