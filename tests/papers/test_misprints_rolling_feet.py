"""What paper 1 (Carpentier and others) prints wrongly beside (2.5) to (3.1), see tests/models/test_printed_slips.py."""

from __future__ import annotations

import numpy as np

from tests.oracles import implicit, printed, spatial

AXES = [0.15, 0.08, 0.05]  # m


def test_contact_points_of_2_3_stay_together_though_the_body_slides() -> None:
    """d/dt of P2P1 is zero wherever there is contact; only the velocities of the material say whether it slips."""
    B, n, w = np.diag(np.square(AXES)), np.array([0.0, 0.0, 1.0]), np.array([0.0, 3.0, 0.0])
    r, slip = printed.contact_point(B, n), np.array([0.4, 0.0, 0.0])
    v = slip - np.cross(w, r)
    rate = v + printed.contact_rate(B, n, w)  # of P1; P2 is the point of the plane under it
    assert abs(n @ rate) < 1e-15
    np.testing.assert_allclose(v + np.cross(w, r), slip)


def test_multipliers_of_3_10_may_pull() -> None:
    """The program has equalities alone: the ground holds on to an ellipsoid that turns too fast to stay."""
    body = spatial.Body(
        implicit.ellipsoid(AXES), 1.2, spatial.solid_ellipsoid_inertia(1.2, AXES), np.array([0.05, 0, 0])
    )

    def push(rate: float) -> float:
        R = spatial.rotation(np.array([np.cos(0.4), 0.0, np.sin(0.4), 0.0]))
        state = spatial.place(body, implicit.Plane(), spatial.Hand(), np.zeros(3), R, np.array([0.0, rate, 0.0]))
        return spatial.accelerations(body, state, implicit.Plane(), spatial.Hand())["force"][2]

    assert push(0.0) > 0.0
    assert min(push(30.0), push(-30.0)) < 0.0
