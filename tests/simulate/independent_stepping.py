"""Time stepping of rigid bodies on the plane z = 0: Pinocchio's dynamics, Coulomb's law contact by contact.

    M (v' - v) = h (tau - b(q, v)) + J'p,   q' = q + h v',   0 <= u_n + g/h  _|_  p_n >= 0,   |p_t| <= mu p_n,

with J the rows of the lowest points of bodies, g their heights (Moreau 1988; Jean 1999). The impulses p are a fixed
point of De Saxce's projection p = P_K(p - rho (u + mu |u_t| n)), swept over the contacts (Acary, Brémond & Huber 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

Array = np.ndarray


@dataclass(frozen=True)
class Touch:
    """What may touch, on the body of the joint of a number; `lowest` gives its lowest point from R, p of the joint."""

    joint: int
    lowest: Callable[[Array, Array], Array]
    mu: float


def wheel(radius: float, crown: float) -> Callable[[Array, Array], Array]:
    """Return the lowest point of a torus about the y axis: a tube of the radius `crown`, `radius` to its outside."""

    def lowest(R: Array, p: Array) -> Array:
        z = np.array([0.0, 0.0, 1.0])
        up = z - (z @ R[:, 1]) * R[:, 1]
        return p - (radius - crown) * up / np.linalg.norm(up) - crown * z

    return lowest


def ball(radius: float, center: Array) -> Callable[[Array, Array], Array]:
    """Return the lowest point of a sphere with this center (3,) in the joint's frame; of a corner, with radius 0."""
    return lambda R, p: p + R @ center - np.array([0.0, 0.0, radius])


@dataclass(frozen=True)
class Springs:
    """Springs and dampers of all joints, but the free one, that are at rest at q; taken at the end of a step."""

    stiffness: float
    damping: float
    rest: Array


class TimeStepping:
    """Steps of a Pinocchio model from q, v."""

    def __init__(self, model: pin.Model, touches: list[Touch], springs: Springs | None = None):
        self.model, self.data, self.touches, self.springs = model, model.createData(), touches, springs
        self.mu = np.array([touch.mu for touch in touches])
        self.pushes = np.zeros((len(touches), 3))

    def step(self, q: Array, v: Array, h: float) -> tuple[Array, Array]:
        """Return q and v after a step h (s)."""
        model, data = self.model, self.data
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.rnea(model, data, q, v, np.zeros(model.nv))
        tau = np.zeros(model.nv)
        if self.springs is not None:
            k, d = self.springs.stiffness, self.springs.damping
            stretch = pin.difference(model, self.springs.rest, pin.integrate(model, q, h * v))
            tau[6:] = -k * stretch[6:] - d * v[6:]
            M[np.arange(6, model.nv), np.arange(6, model.nv)] += h * d + h**2 * k
        pin.computeJointJacobians(model, data, q)
        rows, heights = [], []
        for touch in self.touches:
            place = data.oMi[touch.joint]
            point = touch.lowest(place.rotation, place.translation)
            J = pin.getJointJacobian(model, data, touch.joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            rows.append(J[:3] - pin.skew(point - place.translation) @ J[3:])
            heights.append(point[2])
        J = np.vstack(rows)
        free = v + h * np.linalg.solve(M, tau - bias)
        by_mass = np.linalg.solve(M, J.T)
        u = (J @ free).reshape(-1, 3)
        u[:, 2] += np.array(heights) / h
        self.pushes = self._pushes(J @ by_mass, u)
        v = free + by_mass @ self.pushes.ravel()
        return pin.integrate(model, q, h * v), v

    def _pushes(self, D: Array, free: Array) -> Array:
        p = np.array(self.pushes)
        blocks = [D[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(len(p))]
        inverses = [np.linalg.inv(block) for block in blocks]
        rho = [1.0 / np.linalg.eigvalsh(block)[-1] for block in blocks]
        for _ in range(20_000):
            before = np.array(p)
            for i, mu in enumerate(self.mu):
                rest = free[i] + D[3 * i : 3 * i + 3] @ p.ravel() - blocks[i] @ p[i]
                sticking = -inverses[i] @ rest
                if np.hypot(sticking[0], sticking[1]) <= mu * sticking[2]:
                    p[i] = sticking
                    continue
                for _ in range(10):
                    u = rest + blocks[i] @ p[i]
                    u[2] += mu * np.hypot(u[0], u[1])
                    p[i] = _onto_cone(p[i] - rho[i] * u, mu)
            if np.max(np.abs(p - before)) <= 1e-8 * (np.max(np.abs(p)) + 1e-300):
                break
        return p


def _onto_cone(p: Array, mu: float) -> Array:
    """Return the nearest point of the cone |p_t| <= mu p_n."""
    size = np.hypot(p[0], p[1])
    if size <= mu * p[2]:
        return p
    if mu * size <= -p[2]:
        return np.zeros(3)
    normal = (p[2] + mu * size) / (1 + mu**2)
    return np.array([*(mu * normal / size * p[:2]), normal])
