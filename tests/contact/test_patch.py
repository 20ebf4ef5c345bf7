"""Flat patches: the rows of a wrench cone against the forces at its corners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError

HEXAGON = [[0.1 * np.cos(t), 0.06 * np.sin(t)] for t in np.arange(6) * np.pi / 3]
PATCHES = {
    "rectangle": FlatPatch.rectangle(0.2, 0.08, 0.6),
    "shifted": FlatPatch.rectangle(0.2, 0.08, 0.6, centre=(0.03, -0.02)),
    "triangle": FlatPatch([[0.0, 0.0], [0.0, 0.1], [0.12, 0.0]], 0.5),
    "hexagon": FlatPatch(HEXAGON, 0.9),
    "turned": FlatPatch(FlatPatch.rectangle(0.2, 0.1, 1.0).vertices @ np.array([[0.6, 0.8], [-0.8, 0.6]]), 0.4),
    "point": FlatPatch.point(0.8),
}


@pytest.mark.parametrize("name", PATCHES)
def test_rows_allow_exactly_what_forces_at_the_corners_give(name: str) -> None:
    patch, rng = PATCHES[name], np.random.default_rng(1)
    G = patch.generators
    if patch.is_point:
        np.testing.assert_array_equal(G[:3], 0.0)
    assert (patch.rows @ G).min() > -1e-12
    size = max(float(np.abs(patch.vertices).max()), 0.1)
    for _ in range(40):
        d = rng.normal(size=6) / np.array([size, size, size, 1, 1, 1])
        if patch.is_point:
            d[:3] = 0.0
        by_forces = (d @ G).max()
        bounds = [(0, 0) if patch.is_point and i < 3 else (None, None) for i in range(6)]
        found = linprog(-d, -patch.rows, np.zeros(len(patch.rows)), [[0, 0, 0, 0, 0, 1]], [1.0], bounds)
        assert -found.fun == pytest.approx(by_forces, abs=1e-9)


@pytest.mark.parametrize("name", PATCHES)
def test_what_rows_allow_neither_slips_nor_tips(name: str) -> None:
    patch, rng = PATCHES[name], np.random.default_rng(2)
    used = 0.0
    for _ in range(200):
        wrench = patch.generators @ (rng.random(patch.generators.shape[1]) * (rng.random() < rng.random(1)))
        wrench += 1e-9 * patch.generators.sum(axis=1)
        used = max(used, patch.friction_use(wrench))
        assert patch.edge_distance(wrench) > -1e-12
    assert used <= 1.0 + 1e-12
    corner = patch.generators[:, 0]
    assert patch.friction_use(corner) == pytest.approx(1.0)  # the pyramid touches the cone at its edges


def test_rectangles_along_the_axes_have_half_sides() -> None:
    assert PATCHES["shifted"].half_sides == pytest.approx((0.1, 0.04))
    for name in ("triangle", "hexagon", "turned"):
        assert PATCHES[name].half_sides is None


def test_the_first_row_is_the_normal_force() -> None:
    for patch in PATCHES.values():
        np.testing.assert_allclose(patch.rows[0] / patch.rows[0, 5], [0, 0, 0, 0, 0, 1], atol=1e-15)


def test_order_of_the_corners_does_not_matter() -> None:
    backwards = FlatPatch(HEXAGON[::-1], 0.9)
    w = PATCHES["hexagon"].generators @ np.arange(24.0)
    assert backwards.rows.shape == PATCHES["hexagon"].rows.shape
    assert (backwards.rows @ w).min() > 0


def test_a_wrench_outside_is_seen() -> None:
    patch = PATCHES["rectangle"]
    outside = [[0, 0, 0, 0, 0, -1.0], [0, 0, 0, 0.5, 0, 1], [0, 0.11, 0, 0, 0, 1], [0, 0, 0.2, 0, 0, 1]]
    assert all((patch.rows @ w).min() < 0 for w in outside)
    assert patch.friction_use(outside[1]) == pytest.approx(0.5 / 0.6)
    assert patch.friction_use(outside[0]) == np.inf
    assert patch.friction_use(np.zeros(6)) == 0.0
    assert patch.edge_distance(outside[2]) == pytest.approx(-0.01)
    assert patch.edge_distance(np.zeros(6)) == np.inf
    assert patch.edge_distance([1.0, 0, 0, 0, 0, 0]) == -np.inf
    assert PATCHES["point"].edge_distance([0.1, 0, 0, 0, 0, 1]) == pytest.approx(-0.1)


def test_a_placed_patch_gives_the_wrench_of_its_corner_forces() -> None:
    R = Rotation.random(random_state=2).as_matrix()
    placed = PlacedPatch("left", PATCHES["shifted"], (1.0, 2.0, 3.0), R)
    rng = np.random.default_rng(3)
    forces = rng.normal(size=(4, 3))
    local = np.column_stack((placed.patch.vertices, np.zeros(4)))
    wrench = np.concatenate((np.cross(local, forces).sum(axis=0), forces.sum(axis=0)))
    world = forces @ R.T
    wanted = np.concatenate((np.cross(placed.corners, world).sum(axis=0), world.sum(axis=0)))
    np.testing.assert_allclose(placed.world(wrench), wanted, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: FlatPatch([[0, 0], [1, 0], [2, 0]], 0.5), "area"),
        (lambda: FlatPatch([[0, 0], [1, 0]], 0.5), "area"),
        (lambda: FlatPatch([[0, 0], [1, 0], [0.2, 0.2], [0, 1]], 0.5), "convex"),
        (lambda: FlatPatch([[0.1, 0]], 0.5), "origin"),
        (lambda: FlatPatch.rectangle(0.1, 0.1, 0.0), "friction"),
        (lambda: FlatPatch.rectangle(0.1, -0.1, 0.5), "width"),
        (lambda: FlatPatch.point(np.nan), "friction"),
        (lambda: PlacedPatch("a", FlatPatch.point(0.5), (0, 0, 0), 2 * np.eye(3)), "rotation"),
        (lambda: PlacedPatch("a", "sole", (0, 0, 0)), "FlatPatch"),
    ],
)
def test_wrong_input_is_named(call, text: str) -> None:
    with pytest.raises(InputError, match=text):
        call()


@pytest.mark.parametrize("name", PATCHES)
def test_uses_reach_one_where_rows_reach_zero(name: str) -> None:
    patch, rng = PATCHES[name], np.random.default_rng(3)
    G = patch.generators
    inside = G @ rng.exponential(size=(G.shape[1], 50))
    assert patch.uses(inside.T).shape == (50, 3)
    assert patch.uses(inside.T).max() < 1.0
    np.testing.assert_allclose(patch.uses(G.T).max(axis=1), 1.0, atol=1e-9)  # generators are edges of the cone
    wild = inside.T + rng.normal(size=(50, 6)) * np.abs(inside.T)
    if patch.is_point:
        wild[:, :3] = 0.0
    np.testing.assert_array_equal(patch.uses(wild).max(axis=1) <= 1.0, (wild @ patch.rows.T).min(axis=1) >= 0.0)


def test_uses_are_what_they_say() -> None:
    patch = FlatPatch.rectangle(0.2, 0.08, 0.6, centre=(0.03, -0.02))
    mu = 0.6 / np.sqrt(2)

    def pressed(x: float, y: float, *force: float, yaw: float = 0.0) -> np.ndarray:
        return np.concatenate((np.add(np.cross((x, y, 0.0), force), (0, 0, yaw)), force))

    np.testing.assert_allclose(patch.uses(pressed(0.03, -0.02, 0, 0, 50.0)), 0.0, atol=1e-12)
    np.testing.assert_allclose(patch.uses(pressed(0.03, 0.0, 0, 0, 50.0))[:2], [0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(patch.uses(pressed(0.03, -0.02, -30 * mu, 10 * mu, 60.0))[:2], [0.5, 0.0], atol=1e-12)
    most = mu * (0.1 + 0.04) * 50.0
    np.testing.assert_allclose(patch.uses(pressed(0.03, -0.02, 0, 0, 50.0, yaw=-0.3 * most)), [0, 0, 0.3], atol=1e-12)
    np.testing.assert_array_equal(patch.uses(np.zeros((2, 6))), 0.0)
    assert np.isinf(patch.uses(pressed(0, 0, 0, 0, -1.0))).all()
