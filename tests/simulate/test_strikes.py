"""Bodies that meet in a point that no contact of theirs can follow: edge on edge, corner on face, rim on edge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.status import Status

Array = NDArray[np.float64]


def thrown(
    seed: int, friction: float, restitution: float, swapped: bool = False
) -> tuple[tr.Trajectory, list[float], list[Array]]:
    """Throw two random bodies with edges at each other, without gravity; return the run, masses and moments."""
    random = np.random.default_rng([4, seed])

    def shape() -> tr.Shape:
        size = random.uniform(0.05, 0.1, 3).tolist()
        kind = random.integers(4)
        if kind == 0:
            return tr.Cylinder(size[0], 2 * size[1])
        if kind == 1:
            return tr.Polytope((size * random.normal(size=(9, 3))).tolist())
        return tr.Box(size) if kind == 2 else tr.Rounded(tr.Box(size), 0.01)

    shapes = [shape(), tr.Box(random.uniform(0.05, 0.1, 3).tolist())]
    masses = random.uniform(0.5, 2.0, 2).tolist()
    moments = [m * random.uniform(2e-3, 3e-3, 3) for m in masses]
    turns = [Rotation.random(random_state=random.integers(1000)).as_quat(scalar_first=True) for _ in shapes]
    spins = random.normal(size=(2, 3))
    robot = tr.Robot(gravity=[0.0, 0.0, 0.0], on_slip="slide", on_separation="fly")
    for name, one, m, inertia in zip("ab", shapes, masses, moments, strict=True):
        robot.free(m, inertia, shape=one, name=name)
    robot.contact(*("ba" if swapped else "ab"), friction=friction, restitution=restitution)
    tree = robot.finish()
    aside = random.uniform(-0.04, 0.04, 2)
    start = tree.place(
        contacts=[],
        a=[-0.4, *aside, *turns[0]],
        b=[0.4, 0.0, 0.0, *turns[1]],
        rates={"a": [*spins[0], 1.5, 0.0, 0.0], "b": [*spins[1], -1.5, 0.0, 0.0]},
    )
    return tr.simulate(tree, start, 0.6), masses, moments


def momenta(run: tr.Trajectory, masses: list[float], moments: list[Array]) -> tuple[Array, Array, Array]:
    """Return momentum, angular momentum about the origin (n, 3) and kinetic energy (n,) by numpy alone."""
    x, v, w = (np.asarray(run[name]) for name in ("body_position", "body_velocity", "body_angular_velocity"))
    q = np.asarray(run["body_quaternion"])
    p, L, energy = np.zeros((len(x), 3)), np.zeros((len(x), 3)), np.zeros(len(x))
    for i, (m, inertia) in enumerate(zip(masses, moments, strict=True)):
        R = Rotation.from_quat(q[:, i], scalar_first=True).as_matrix()
        spin = np.einsum("nij,j,nkj,nk->ni", R, inertia, R, w[:, i])
        p += m * v[:, i]
        L += m * np.cross(x[:, i], v[:, i]) + spin
        energy += 0.5 * m * np.sum(v[:, i] ** 2, axis=1) + 0.5 * np.sum(spin * w[:, i], axis=1)
    return p, L, energy


@pytest.mark.parametrize("seed", range(8))
def test_bodies_with_edges_bounce_off_each_other(seed: int) -> None:
    """Momentum and angular momentum stay, each blow gives back what its restitution says, and with friction 0 no more
    is lost than that takes."""
    e = 0.85
    run, masses, moments = thrown(seed, friction=0.0, restitution=e)
    assert run.status is Status.SUCCESS
    assert run.feasible
    assert np.min(np.asarray(run["gap"])) > -1e-9
    p, L, energy = momenta(run, masses, moments)
    assert np.max(np.abs(p - p[0])) < 1e-9
    assert np.max(np.abs(L - L[0])) < 1e-9
    push = np.asarray(run["event_impulse"])
    before, after = (np.asarray(run[f"event_velocity_{when}"]) for when in ("before", "after"))
    size = np.linalg.norm(push, axis=1)
    assert len(size) > 0
    n = push / size[:, None]
    speeds = [np.sum(n * v, axis=1) for v in (before, after)]
    assert np.allclose(speeds[1], -e * speeds[0], rtol=1e-7)
    # Work of an impulse along n: L (v+ + v-)/2.
    assert energy[-1] - energy[0] == pytest.approx(float(np.sum(size * (speeds[0] + speeds[1]) / 2)), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_friction_of_such_a_blow_is_in_its_cone_and_takes_energy(seed: int) -> None:
    run, masses, moments = thrown(seed, friction=0.4, restitution=0.5)
    assert run.status is Status.SUCCESS
    assert run.feasible
    p, L, energy = momenta(run, masses, moments)
    assert np.max(np.abs(p - p[0])) < 1e-9
    assert np.max(np.abs(L - L[0])) < 1e-9
    assert np.all(np.diff(energy) < 1e-9 * energy[0])


@pytest.mark.parametrize("seed", range(4))
def test_names_in_either_order_bounce_alike(seed: int) -> None:
    one, other = (thrown(seed, 0.3, 0.5, swapped)[0] for swapped in (False, True))
    assert np.allclose(np.asarray(one["body_position"])[-1], np.asarray(other["body_position"])[-1], atol=1e-8)


def test_faces_that_lie_on_each_other_have_no_one_point() -> None:
    """A can falls flat on another one: the blow is spread over a face, which no one point stands for."""
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    for name in "ab":
        robot.free(1.0, (2e-3, 2e-3, 2e-3), shape=tr.Cylinder(0.05, 0.1), name=name)
    robot.contact("a", "b", restitution=0.5)
    tree = robot.finish()
    start = tree.place(
        contacts=[], a=[0.01, 0, 0.2, 1, 0, 0, 0], b=[0, 0, 0, 1, 0, 0, 0], rates={"a": [0, 0, 0, 0, 0, -1]}
    )
    assert tr.simulate(tree, start, 0.5).status is Status.NOT_A_POINT_CONTACT
