"""Resolving in the contact frame changes no motion, on curves whose normal lies on either side."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import law_named


@pytest.mark.parametrize("shape", [tr.FourierRadius(0.11, cos=[0, -0.36]), tr.Line(), tr.Circle(0.2)])
def test_planar_rolling_is_the_same_in_world_and_contact_axes(shape: tr.Shape) -> None:
    ball = tr.RigidBody(tr.Circle(0.0166), mass=0.03)
    pair = replace(tr.RollingPair(ball, tr.Hand(shape), friction=0.8), coordinates="rolling", contact="auto")
    rng = np.random.default_rng(0)
    found = []
    for resolve in ("world", "contact"):
        model = pair.tree(resolve=resolve)
        dynamics = model.dynamics([law_named("rolling")])
        force = model.to_world @ dynamics.forces[0]
        function = ca.Function("f", [model.x, model.u], [ca.vertcat(dynamics.xdot, force)])
        if not found:
            x, u = rng.uniform(0.1, 1.0, model.x.shape[0]), rng.normal(size=model.u.shape[0])
        found.append(np.asarray(function(x, u)).ravel())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-11)
