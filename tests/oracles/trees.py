"""Lagrange's equations of planar trees on terrain, with one massless pair of contact parameters a rolling outline.

Shares nothing with the package: absolute angles, energies, and constraint rows in the coordinates
(x, z, theta of the free body, joint angles, phi_i, p_i):

    closure   P_i(q) + R_i a_i(phi_i) - t(p_i) = 0,
    tangency  (R_i a_i') x t' = 0,
    rolling   |a_i'| phi_i' - |t'| p_i' = 0.

The multiplier of the closure is the contact force on the body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

Curve = Callable[[ca.SX], ca.SX]


@dataclass(frozen=True)
class Rod:
    """A body: its parent (-1: free), joint place on the parent, mass, inertia and centre of mass in its own frame."""

    parent: int
    at: tuple[float, float]
    mass: float
    inertia: float
    com: tuple[float, float] = (0.0, 0.0)
    outline: Curve | None = None


def turned(angle: ca.SX, r: ca.SX | tuple[float, float]) -> ca.SX:
    r = ca.vertcat(*r) if isinstance(r, tuple) else r
    return ca.vertcat(ca.cos(angle) * r[0] - ca.sin(angle) * r[1], ca.sin(angle) * r[0] + ca.cos(angle) * r[1])


def lagrangian(rods: list[Rod], terrain: Curve, g: float = 9.81) -> tuple[ca.Function, ca.Function]:
    """Return (q, qd, torques) -> (q'', multipliers of the closures) and (q, qd) -> constraint velocities' Jacobian."""
    joints = len(rods) - 1
    n = 3 + joints
    wheels = [i for i, rod in enumerate(rods) if rod.outline is not None]
    q, qd = ca.SX.sym("q", n + 2 * len(wheels)), ca.SX.sym("qd", n + 2 * len(wheels))
    torque = ca.SX.sym("torque", joints)
    angles, places, kinetic, potential = [], [], 0, 0
    for i, rod in enumerate(rods):
        if rod.parent < 0:
            angles.append(q[2])
            places.append(q[:2])
        else:
            angles.append(angles[rod.parent] + q[2 + i])
            places.append(places[rod.parent] + turned(angles[rod.parent], rod.at))
        com = places[i] + turned(angles[i], rod.com)
        v, w = ca.jtimes(com, q, qd), ca.jtimes(angles[i], q, qd)
        kinetic += rod.mass * ca.sumsqr(v) / 2 + rod.inertia * w**2 / 2
        potential += rod.mass * g * com[1]
    closure, tangency, rolling = [], [], []
    for k, i in enumerate(wheels):
        phi, p = q[n + 2 * k], q[n + 2 * k + 1]
        a, t = rods[i].outline(phi), terrain(p)
        da, dt = ca.jacobian(a, phi), ca.jacobian(t, p)
        closure.append(places[i] + turned(angles[i], a) - t)
        along = turned(angles[i], da)
        tangency.append(along[0] * dt[1] - along[1] * dt[0])
        rolling.append(ca.norm_2(da) * qd[n + 2 * k] - ca.norm_2(dt) * qd[n + 2 * k + 1])
    holonomic = ca.vertcat(*closure, *tangency)
    rows = ca.vertcat(ca.jtimes(holonomic, q, qd), *rolling)
    A = ca.jacobian(rows, qd)
    momentum = ca.jacobian(kinetic, qd).T
    M = ca.jacobian(momentum, qd)
    push = ca.vertcat(ca.SX(3, 1), torque, ca.SX(2 * len(wheels), 1))
    right = push + ca.jacobian(kinetic - potential, q).T - ca.jtimes(momentum, q, qd)
    K = ca.vertcat(ca.horzcat(M, -A.T), ca.horzcat(A, ca.SX(A.shape[0], A.shape[0])))
    solve = ca.Function("oracle", [q, qd, torque], [K, ca.vertcat(right, -ca.jtimes(rows, q, qd)), M])
    return solve, ca.Function("rows", [q], [A])


def accelerations(
    rods: list[Rod], terrain: Curve, q: np.ndarray, nu: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return q'' (3 + joints,) and the contact forces (wheels, 2); the parameters' rates follow from the rows."""
    solve, rows = lagrangian(rods, terrain)
    n = 2 + len(rods)
    A = np.asarray(rows(q))
    rates = np.linalg.lstsq(A[:, n:], -A[:, :n] @ nu, rcond=None)[0]
    qd = np.concatenate([nu, rates])
    assert np.abs(A @ qd).max() < 1e-10
    K, right, _ = (np.asarray(value) for value in solve(q, qd, torque))
    answer = np.linalg.solve(K, right.ravel())
    wheels = (len(q) - n) // 2
    return answer[:n], answer[len(q) : len(q) + 2 * wheels].reshape(wheels, 2)
