"""Passive walker with round feet: three point masses on massless legs, by virtual work and Gauss' principle.

Legs of length 1 with masses at the hip (h) and at distance c below it (m each), feet of radius R about a point R above
the sole, gravity 1 on a slope. Angles counter-clockwise from the slope's normal, y = (stance, swing, rates).
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

H, M, C, R = 0.5, 0.25, 0.5, 0.3


def points(q):
    """Hip, centre of the stance leg, centre of the swing leg; the stance foot has rolled to x = -R q[0]."""
    (s1, s2), (c1, c2) = np.sin(q), np.cos(q)
    hip = np.array([-R * q[0] - (1 - R) * s1, R + (1 - R) * c1])
    return hip, hip + C * np.array([s1, -c1]), hip + C * np.array([s2, -c2])


def rate(y, slope):
    """Sum of m (a - g) over each virtual displacement is zero."""
    q, w = y[:2], y[2:]
    (s1, s2), (c1, c2) = np.sin(q), np.cos(q)
    # d hip/dq1 and what is left of its acceleration without q1''.
    hip_J, hip_b = np.array([-R - (1 - R) * c1, -(1 - R) * s1]), (1 - R) * w[0] ** 2 * np.array([s1, -c1])
    zero = np.zeros(2)
    Js = [
        np.stack([hip_J, zero], 1),
        np.stack([hip_J + C * np.array([c1, s1]), zero], 1),
        np.stack([hip_J, C * np.array([c2, s2])], 1),
    ]
    bs = [
        hip_b,
        hip_b + C * w[0] ** 2 * np.array([-s1, c1]),
        hip_b + C * w[1] ** 2 * np.array([-s2, c2]),
    ]
    g = np.array([np.sin(slope), -np.cos(slope)])
    A = sum(m * J.T @ J for m, J in zip((H, M, M), Js, strict=True))
    top = sum(m * J.T @ (g - b) for m, J, b in zip((H, M, M), Js, bs, strict=True))
    return np.concatenate([w, np.linalg.solve(A, top)])


def impact(y):
    """Velocities change as little as they can (in kinetic energy) so that legs stay rigid and the foot sticks."""
    q, w = y[:2], y[2:]
    p = np.array(points(q))
    stance = np.array([-R * q[0], 0.0])
    turn = lambda r: np.array([-r[1], r[0]])  # noqa: E731
    v_hip = w[0] * turn(p[0] - stance)
    v = np.concatenate([v_hip, v_hip + w[0] * turn(p[1] - p[0]), v_hip + w[1] * turn(p[2] - p[0])])
    e1, e2 = (p[1] - p[0]) / C, (p[2] - p[0]) / C
    foot = (1 - R) * e2 + [0.0, -R]  # from the hip
    rows = np.zeros((4, 6))
    rows[0, :2], rows[0, 2:4] = -e1, e1
    rows[1, :2], rows[1, 4:] = -e2, e2
    # The swing leg turns with w2 = (v_m - v_hip) . turn(e2)/C, and its foot moves with v_hip + w2 turn(foot).
    spread = np.outer(turn(foot), turn(e2)) / C
    rows[2:, :2], rows[2:, 4:] = np.eye(2) - spread, spread
    W = np.diag([1 / H, 1 / H, 1 / M, 1 / M, 1 / M, 1 / M])
    after = v - W @ rows.T @ np.linalg.solve(rows @ W @ rows.T, rows @ v)
    w1 = (after[2:4] - after[:2]) @ turn(e1) / C
    w2 = (after[4:] - after[:2]) @ turn(e2) / C
    return np.array([q[1], q[0], w2, w1])


def stride(y, slope):
    """Next state after touch-down, and the time; scuffing, while the feet are close to each other, is ignored."""

    def landing(t, y):
        ahead = (1 - R) * (np.sin(y[1]) - np.sin(y[0]))
        return max((1 - R) * (np.cos(y[0]) - np.cos(y[1])), 0.1 - ahead)

    landing.terminal, landing.direction = True, -1
    run = solve_ivp(lambda t, y: rate(y, slope), (0, 8), y, events=landing, rtol=1e-11, atol=1e-13)
    return impact(run.y[:, -1]), run.t[-1]


def cycle(guess, slope):
    """(a, w1, w2), time and multipliers of the cycle near the guess; derivative by central differences."""

    def once(z):
        y, _ = stride(np.array([z[0], -z[0], z[1], z[2]]), slope)
        return y[[0, 2, 3]]

    z = fsolve(lambda z: once(z) - z, guess, xtol=1e-12)
    J = np.stack([(once(z + d) - once(z - d)) / 2e-6 for d in 1e-6 * np.eye(3)], axis=1)
    values = np.linalg.eigvals(J)
    return z, stride(np.array([z[0], -z[0], z[1], z[2]]), slope)[1], values[np.argsort(-abs(values))]
