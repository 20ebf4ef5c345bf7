"""What paper 1 prints wrongly about a rolling ellipsoid, beside the rows of `trundle.contact` and differences of them.

(2.9) and (2.12) by themselves, without the package's rows, are in tests/test_oracles.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle.geometry as tg
from tests.oracles import printed
from trundle.contact.choice import make_contact
from trundle.contact.laws import ROLLING
from trundle.contact.packed import ContactRows, FrameMotion, PackedContact, contact_function, still_frame

AXES = (0.15, 0.08, 0.05)
NONE = np.zeros((3, 0))


@dataclass(frozen=True)
class Rolling:
    """An ellipsoid that rolls on a tilted plane through the origin, now: v(C) = r x w; C and axes do not accelerate."""

    touch: PackedContact
    support: FrameMotion
    R: np.ndarray
    w: np.ndarray
    p: np.ndarray
    v: np.ndarray

    @property
    def n(self) -> np.ndarray:
        return self.support.R[:, 2]

    @property
    def B(self) -> np.ndarray:
        return self.R @ np.diag(np.square(AXES)) @ self.R.T

    def rows(self, t: float = 0.0) -> ContactRows:
        """The package's rows at a time near 0."""
        R = Rotation.from_rotvec(self.w * t).as_matrix() @ self.R
        zero = np.zeros(3)
        return self.touch.rows(
            FrameMotion(R, self.p + t * self.v, self.w, self.v, NONE, NONE, zero, zero), self.support
        )


@pytest.fixture(params=range(4))
def rolling(request: pytest.FixtureRequest) -> Rolling:
    rng = np.random.default_rng(request.param)
    R, ground = Rotation.from_quat(rng.normal(size=(2, 4))).as_matrix()
    w = rng.normal(size=3)
    r = printed.contact_point(R @ np.diag(np.square(AXES)) @ R.T, ground[:, 2])
    touch = contact_function(make_contact(tg.Ellipsoid(AXES), tg.Plane(), "support"), ROLLING, compiled=False)
    return Rolling(touch, still_frame(0, ground), R, w, -r, np.cross(r, w))


def difference(rolling: Rolling) -> np.ndarray:
    """d/dt of the velocity of the material point that touches, from the package's velocities alone."""
    h = 1e-6
    return (rolling.rows(h).vrel - rolling.rows(-h).vrel) / (2 * h)


def test_contact_point_of_2_10_touches_and_with_mixed_axes_it_does_not(rolling: Rolling) -> None:
    np.testing.assert_allclose(rolling.rows().gap, 0.0, atol=1e-12)
    np.testing.assert_allclose(rolling.rows().vrel, 0.0, atol=1e-12)
    lowest = rolling.n @ printed.contact_point(rolling.B, rolling.n)
    assert np.linalg.norm(rolling.n @ rolling.p + lowest) < 1e-12
    mixed = printed.mixed_contact_point(np.diag(np.square(AXES)), rolling.n)
    for components in (mixed, rolling.R @ mixed):  # taken as world's or as the body's
        assert np.linalg.norm(components - printed.contact_point(rolling.B, rolling.n)) > 1e-2


def test_bias_is_that_of_2_12_with_the_square_and_not_of_the_printed_root(rolling: Rolling) -> None:
    ours = rolling.rows().b
    np.testing.assert_allclose(ours, difference(rolling), atol=1e-8)
    np.testing.assert_allclose(ours, printed.contact_bias(rolling.B, rolling.n, rolling.w), atol=1e-12)
    wrong = printed.contact_bias(rolling.B, rolling.n, rolling.w, "root")
    assert np.linalg.norm(wrong - ours) > 0.8 * np.linalg.norm(ours)


@pytest.mark.parametrize("form", ["material", "local"])
def test_bias_is_not_that_of_a_point_of_the_body_or_of_a_constant_matrix(rolling: Rolling, form: str) -> None:
    ours = rolling.rows().b
    wrong = printed.contact_bias(rolling.B, rolling.n, rolling.w, form)
    assert np.linalg.norm(wrong - ours) > 0.1 * np.linalg.norm(ours)


def test_velocity_of_2_2_is_not_the_rate_of_the_contact_point(rolling: Rolling) -> None:
    """The touching material rests; the point of contact walks over the plane, by R 1x', without leaving it."""
    rate = rolling.v + printed.contact_rate(rolling.B, rolling.n, rolling.w)
    np.testing.assert_allclose(rolling.rows().vrel, 0.0, atol=1e-12)
    assert np.linalg.norm(rate) > 0.05 * np.linalg.norm(rolling.v)
    assert abs(rolling.n @ rate) < 1e-12
    local = rate - (rolling.v + np.cross(rolling.w, printed.contact_point(rolling.B, rolling.n)))
    np.testing.assert_allclose(local, rate, atol=1e-12)  # all of it is R 1x': (2.12) is no rate of 1x itself
    assert np.linalg.norm(printed.contact_rate(rolling.B, rolling.n, rolling.w) - local) > 0.05 * np.linalg.norm(
        rolling.v
    )


def test_twist_of_2_2_is_stacked_the_other_way_round_than_the_matrix_of_3_1(rolling: Rolling) -> None:
    r = printed.contact_point(rolling.B, rolling.n)
    np.testing.assert_allclose(printed.stacked_velocity(r, rolling.w, rolling.v), 0.0, atol=1e-12)
    assert np.linalg.norm(printed.stacked_velocity(r, rolling.w, rolling.v, printed=True)) > 0.1
