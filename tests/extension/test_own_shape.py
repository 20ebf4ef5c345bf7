"""A shape from outside: one class with one method rolls like the built-in one."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.geometry import ChartRange, ChartShape, DistanceShape, LevelShape, SupportShape

R = 0.1


@dataclass(frozen=True)
class OutlineDisc(ChartShape):
    d = 2
    side = -1
    ranges = (ChartRange(0.0, 2 * np.pi, periodic=True),)

    def point(self, u: ca.SX) -> ca.SX:
        return R * ca.vertcat(ca.cos(u), ca.sin(u))


@dataclass(frozen=True)
class Slope(ChartShape):
    """Terrain without end."""

    d = 2
    ranges = (ChartRange(),)

    def point(self, u: ca.SX) -> ca.SX:
        return ca.vertcat(u, -0.1 * u)


@dataclass(frozen=True)
class SupportDisc(SupportShape):
    d = 2

    def support(self, u: ca.SX) -> ca.SX:
        return R * ca.norm_2(u)


@dataclass(frozen=True)
class SupportBall(SupportShape):
    d = 3

    def support(self, u: ca.SX) -> ca.SX:
        return R * ca.norm_2(u)


@dataclass(frozen=True)
class LevelBall(LevelShape):
    size = R

    def level(self, x: ca.SX) -> ca.SX:
        return ca.sumsqr(x) - R**2


@dataclass(frozen=True)
class DistanceBall(DistanceShape):
    size = R

    def signed_distance(self, x: ca.SX) -> ca.SX:
        return ca.norm_2(x) - R


def rolled(shape: tr.Shape, ground: tr.Shape) -> np.ndarray:
    pair = tr.RollingPair(tr.RigidBody(shape, 0.5, "solid"), tr.Ground(ground), friction=0.6)
    run = tr.simulate(pair, pair.place(), 0.5)
    assert run.status is tr.Status.SUCCESS
    name = "object_position" if shape.d == 3 else "body_position"
    return np.asarray(run[name])


@pytest.mark.parametrize("shape", [OutlineDisc(), SupportDisc()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("ground", [tr.Line(-0.1, 0.0), Slope()], ids=lambda s: type(s).__name__)
def test_a_disc_of_ones_own_rolls_down_a_slope(shape: tr.Shape, ground: tr.Shape) -> None:
    np.testing.assert_allclose(rolled(shape, ground), rolled(tr.Circle(R), tr.Line(-0.1, 0.0)), atol=1e-7)


@pytest.mark.parametrize("shape", [SupportBall(), LevelBall(), DistanceBall()], ids=lambda s: type(s).__name__)
def test_a_ball_of_ones_own_rolls_in_a_bowl(shape: tr.Shape) -> None:
    centroid, inertia = shape.mass_properties()
    assert centroid == pytest.approx(np.zeros(3), abs=1e-9)
    assert inertia == pytest.approx(0.4 * R**2 * np.eye(3), abs=1e-7)
    assert shape.distance([[0.3, 0.0, 0.0]])[0] == pytest.approx([0.2], abs=1e-9)

    def place(of: tr.Shape) -> np.ndarray:
        hand = tr.Hand(tr.Plane(), rpy=[0.1, 0.0, 0.0])
        pair = tr.RollingPair(tr.RigidBody(of, 0.5, 0.4 * R**2 * 0.5 * np.eye(3)), hand, friction=0.6)
        run = tr.simulate(pair, pair.place(), 0.3)
        assert run.status is tr.Status.SUCCESS
        return np.asarray(run["object_position"])

    np.testing.assert_allclose(place(shape), place(tr.Sphere(R)), atol=1e-7)
