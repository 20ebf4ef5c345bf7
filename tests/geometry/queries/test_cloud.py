"""Nearest points of whole shapes: against distances along curves that bound them, and hulls of differences."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.geometry.queries.cloud import bounding_ball
from trundle.geometry.queries.separation import separation

_HEIGHT, _WAVELENGTH, _RADIUS, _ROUNDING = 0.0733, 1.81, 0.0654, 0.016


def _above_wave(points: np.ndarray, phase: float = -np.pi / 2) -> np.ndarray:
    """Return the distances (n,), m, of points near the lines of a wave, by Newton on their feet."""
    k = 2 * np.pi / _WAVELENGTH
    foot = points[:, 0].copy()
    for _ in range(20):
        angle = k * foot + phase
        z, slope, bend = (_HEIGHT * f for f in (np.sin(angle), k * np.cos(angle), -k * k * np.sin(angle)))
        residual = (foot - points[:, 0]) + (z - points[:, 2]) * slope
        foot -= residual / (1 + slope**2 + (z - points[:, 2]) * bend)
    z, slope = _HEIGHT * np.sin(k * foot + phase), _HEIGHT * k * np.cos(k * foot + phase)
    return ((points[:, 2] - z) - slope * (points[:, 0] - foot)) / np.sqrt(1 + slope**2)


def test_across_a_trough_the_nearer_side_of_a_disc_is_found() -> None:
    """Both sides are as near as the points of the cloud are apart from the rim; which is nearer these do not tell."""
    trough = tr.Extrusion(tr.Sinusoid(_HEIGHT, _WAVELENGTH, -np.pi / 2))
    measure = separation(tr.Disc(_RADIUS, _ROUNDING), trough)
    around = np.linspace(0, 2 * np.pi, 20001)
    rim = _RADIUS * np.stack([np.cos(around), np.sin(around), 0 * around], axis=1)
    random = np.random.default_rng(1)
    for _ in range(25):
        across, along, spin = random.uniform(-2e-4, 2e-4), 0.01 * random.normal(), random.uniform(0, 6)
        (c, s), (ca, sa), (cs, ss) = ((np.cos(angle), np.sin(angle)) for angle in (across, along, spin))
        R = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) @ np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
        R = R @ np.array([[cs, -ss, 0], [ss, cs, 0], [0, 0, 1]])
        p = np.array([0.0, 0.0, 0.018 - _HEIGHT])
        p[2] -= _above_wave(rim @ R.T + p).min() - _ROUNDING - 1e-6
        least = _above_wave(rim @ R.T + p).min() - _ROUNDING
        assert abs(measure.apart(R, p).gap - least) < 5e-9


def test_of_an_edge_nearly_along_a_wave_the_nearer_end_is_found() -> None:
    """Points fall so little along such an edge that a corner 1e-6 m deeper was missed by half a millimetre."""
    wave = tr.Extrusion(tr.Sinusoid(_HEIGHT, _WAVELENGTH, 0.3))
    half = np.array([0.05, 0.08, 0.03])
    measure = separation(tr.Rounded(tr.Box(half - _ROUNDING), _ROUNDING), wave)
    corners = (half - _ROUNDING) * np.stack(np.meshgrid(*3 * [[-1.0, 1.0]]), axis=-1).reshape(-1, 3)
    random = np.random.default_rng(2)
    for _ in range(25):
        tilt, roll, along = random.uniform(0.5, 1.0), random.uniform(-1, 1) * 10.0 ** random.uniform(-4, -2), 0.1
        (c, s), (cr, sr) = ((np.cos(angle), np.sin(angle)) for angle in (tilt, roll))
        R = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]]) @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
        p = np.array([along, 0.0, 0.2])
        p[2] -= _above_wave(corners @ R.T + p, 0.3).min() - _ROUNDING - random.uniform(-2e-6, 1e-3)
        least = _above_wave(corners @ R.T + p, 0.3).min() - _ROUNDING
        assert abs(measure.apart(R, p).gap - least) < 1e-9


def test_corners_that_hardly_overlap_do_so_in_the_least_direction() -> None:
    """A search that begins along the centres may end so deep that its normal says nothing: gaps were a third of a size.

    The least overlap is the distance of zero from the nearest face of the difference of both.
    """
    random = np.random.default_rng(3)
    for k in range(30):
        V, W = 0.05 * random.normal(size=(2, 12, 3))
        R = Rotation.random(random_state=k).as_matrix()
        measure, p = separation(tr.Polytope(V.tolist()), tr.Polytope(W.tolist())), 0.3 * np.eye(3)[k % 3]
        apart = measure.apart(R, p)
        p = p - (apart.gap + random.choice([0.0, 1e-13, 1e-11, 1e-9])) * apart.normal
        least = ConvexHull(((V @ R.T + p)[:, None] - W).reshape(-1, 3)).equations[:, 3].max()
        found = measure.apart(R, p)
        assert abs(found.gap - least) < 2e-9
        assert np.all(np.isfinite([found.x_A, found.x_B]))


def test_a_level_set_that_leaves_its_box_has_no_end() -> None:
    bowl = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - 0.3 * x**2 - 0.1 * y**2, 0.3)
    ring = tr.geometry.ExpressionLevelSurface(lambda x, y, z: ((x**2 + y**2) ** 0.5 - 0.3) ** 2 + z**2 - 0.01, 0.5)
    assert bounding_ball(bowl) is None
    assert bounding_ball(ring) is not None


def test_a_ball_lands_on_a_level_set_far_from_its_middle() -> None:
    bowl = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - 0.1 * x**2 - 0.1 * y**2, 0.3)
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_separation="fly", on_slip="slide")
    robot.free(1.0, [0.004] * 3, shape=tr.Sphere(0.1), name="ball")
    robot.terrain(bowl, friction=0.5)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(ball=[3.0, 0.0, 1.3, 1.0, 0.0, 0.0, 0.0], contacts=[]), 1.0)
    assert run.status is tr.Status.SUCCESS
    assert len(run.transitions) == 1
    assert np.min(run.dataset["gap"]) > -1e-8
