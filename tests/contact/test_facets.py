"""Contact of two polytopes: of their pairs of features the one that touches is where the bodies are nearest."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.contact.choice import contact_form, make_contact, pieces_of
from trundle.contact.contact import kinematics
from trundle.contact.motion import Motion
from trundle.geometry.queries.separation import separation
from trundle.numerics.space import angular_size


def polytope(random: np.random.Generator, d: int) -> tr.Shape:
    """Return a polytope of random corners, or a box, sharp or rounded."""
    size = 0.3 * random.uniform(0.5, 2.0, d)
    corners = size * random.normal(size=(random.integers(5, 9), d))
    sharp = tr.Box(size.tolist()) if random.random() < 0.5 else tr.Polytope(corners.tolist())
    return tr.Rounded(sharp, 0.05) if random.random() < 0.5 else sharp


def contacts_of(A: tr.Shape, B: tr.Shape) -> list:
    assert contact_form(A, B) == "facets"
    return [make_contact(A, B, "facets", piece=piece) for piece in pieces_of(A, "facets", B)]


def pose_of(random: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a pose of A in B's frame at which they may be apart."""
    if d == 2:
        angle = random.uniform(-np.pi, np.pi)
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    else:
        R = Rotation.random(random_state=random).as_matrix()
    return R, 1.5 * random.normal(size=d)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_one_pair_of_features_is_nearest(d: int, seed: int) -> None:
    random = np.random.default_rng([d, seed])
    A, B = polytope(random, d), polytope(random, d)
    contacts, whole, apart = contacts_of(A, B), separation(A, B), 0
    rounding = [shape.representations.features[0].rounding for shape in (A, B)]
    for _ in range(12):
        R, p = pose_of(random, d)
        truth = whole.apart(R, p)
        if truth.gap < 1e-3:
            continue
        apart += 1
        found = []
        for contact in contacts:
            x_A, x_B, n, _, margin = (np.asarray(value) for value in contact._nearest(R, p))
            if margin > 0:
                found.append((n.ravel(), (R @ x_A).ravel() + p, x_B.ravel()))
        if not sum(rounding):  # apart, corners of sharp ones may be nearest to corners and edges, which cannot touch
            assert len(found) <= 1
        else:
            assert len(found) == 1
        for n, x_A, x_B in found:
            assert float(n @ (x_A - x_B)) == pytest.approx(truth.gap, abs=1e-9)
            np.testing.assert_allclose(n, truth.normal, atol=1e-6)
    assert apart > 2


@pytest.mark.parametrize("d", [2, 3])
def test_a_face_that_lies_on_another_touches_at_the_corners_of_what_they_share(d: int) -> None:
    """The upper one hangs over: two of its corners touch the face, and sides cross; in the plane a corner of each."""
    low, top = tr.Box([0.2] * d), tr.Box([0.1] * d)
    p = np.zeros(d)
    p[0], p[-1] = 0.15, 0.3
    touching = set()
    for contact in contacts_of(top, low):
        x_A, x_B, n, _, margin = (np.asarray(value).ravel() for value in contact._nearest(np.eye(d), p))
        gap = float(n @ (x_A + p - x_B))
        if margin > -1e-12 and abs(gap) < 1e-12:
            touching.add(tuple(np.round(x_B, 9) + 0.0))
    sides = [(0.05, 0.2), (0.2, 0.2)] if d == 2 else [(x, y, 0.2) for x in (0.05, 0.2) for y in (-0.1, 0.1)]
    assert touching == set(sides)


def moving(d: int) -> tuple[Motion, ca.SX, ca.SX]:
    """Return a motion with symbols of its pose and of its twist."""
    k = angular_size(d)
    R, p, w, v = ca.SX.sym("R", d, d), ca.SX.sym("p", d), ca.SX.sym("w", k), ca.SX.sym("v", d)
    none = ca.SX(k, 1), ca.SX(d, 1)
    return (
        Motion(R, p, w, v, ca.SX(k, 0), ca.SX(d, 0), *none),
        ca.vertcat(ca.vec(R), p),
        ca.vertcat(w, v),
    )


def turned(R: np.ndarray, w: np.ndarray, t: float) -> np.ndarray:
    """Return a rotation that goes on at the rate w for a time t."""
    if len(R) == 2:
        c, s = np.cos(w[0] * t), np.sin(w[0] * t)
        return np.array([[c, -s], [s, c]]) @ R
    return Rotation.from_rotvec(w * t).as_matrix() @ R


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_points_normals_and_gaps_go_on_as_poses_say(d: int, seed: int) -> None:
    """Against differences along the motion of two bodies that both move and turn: rates, and the bias of the gap."""
    random = np.random.default_rng([d, seed, 3])
    A, B = polytope(random, d), polytope(random, d)
    for contact in random.permutation(np.array(contacts_of(A, B), dtype=object))[:12]:
        motions = [moving(d) for _ in "AB"]
        k = kinematics(contact, motions[0][0], motions[1][0], ca.SX(0, 1), slipping=True)
        on_A, on_B = (side.r for side in contact.touch(motions[0][0], motions[1][0], ca.SX(0, 1)))
        told = [on_A + motions[0][0].p, on_B + motions[1][0].p, k.n, k.distance, k.sA, k.sB, k.ndot, k.vrel, k.bias]
        given = [symbol for _, pose, twist in motions for symbol in (pose, twist)]
        function = ca.Function("contact", given, told)
        poses = [pose_of(random, d) for _ in "AB"]
        twists = [(random.normal(size=angular_size(d)), random.normal(size=d)) for _ in "AB"]

        def at(t: float, function=function, poses=poses, twists=twists) -> list[np.ndarray]:
            values = []
            for (R, p), (w, v) in zip(poses, twists, strict=True):
                values += [np.concatenate([turned(R, w, t).ravel(order="F"), p + v * t]), np.concatenate([w, v])]
            return [np.asarray(value).ravel() for value in function(*values)]

        here, h = at(0.0), 1e-5
        ahead, back = at(h), at(-h)
        _, _, n, gap, sA, sB, ndot, vrel, bias = here
        rates = [(b - a) / (2 * h) for a, b in zip(back, ahead, strict=True)]
        for i, (w, v) in enumerate(twists):
            arm = here[i] - poses[i][1]
            spun = w[0] * np.array([-arm[1], arm[0]]) if d == 2 else np.cross(w, arm)
            size = 1.0 + np.abs(rates[i]).max()
            np.testing.assert_allclose((sA, sB)[i], rates[i] - v - spun, atol=1e-6 * size**3)
        np.testing.assert_allclose(ndot, rates[2], atol=1e-6 * (1.0 + np.abs(rates[2]).max()) ** 3)
        if abs(gap) < 1e-9 or max(len(contact.of_A.axes), len(contact.of_B.axes)) == d - 1:
            assert float(rates[3][0]) == pytest.approx(float(n @ vrel), abs=1e-6 * (1.0 + np.abs(vrel).max()) ** 3)
        np.testing.assert_allclose(bias, rates[7], atol=1e-5 * (1.0 + np.abs(rates[7]).max()) ** 3)
