"""Meshes: every face has an area."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg

AROUND, DOWN = tg.ChartRange(0.0, 2 * np.pi, periodic=True), tg.ChartRange(0.0, np.pi)


@dataclass(frozen=True)
class Globe(tg.ChartShape):
    """A ball of 1 m by longitude and latitude, in either order."""

    azimuth_first: bool
    d = 3

    @property
    def ranges(self) -> tuple[tg.ChartRange, ...]:
        return (AROUND, DOWN) if self.azimuth_first else (DOWN, AROUND)

    def point(self, u: ca.SX) -> ca.SX:
        azimuth, polar = (u[0], u[1]) if self.azimuth_first else (u[1], u[0])
        return ca.vertcat(ca.sin(polar) * ca.cos(azimuth), ca.sin(polar) * ca.sin(azimuth), ca.cos(polar))


@pytest.mark.parametrize("azimuth_first", [False, True])
def test_faces_without_area_are_dropped_at_poles(azimuth_first: bool) -> None:
    x, faces = Globe(azimuth_first).mesh(12)
    a, b, c = (x[faces[:, i]] for i in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 1e-3
    assert len(x) - len(faces) / 2 == 2  # Euler's formula: every edge has two faces
