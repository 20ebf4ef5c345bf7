"""Momentum of a body pushed at points, integrated numerically in world coordinates: no projection, no closed form.

Every contact pushes at the corners of its own polygon by plain forces, so moments at contacts never appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


@dataclass(frozen=True)
class Forces:
    """Forces (n, 3) N at world points (n, 3); a force and a couple at the centre of mass; constant for a while."""

    points: Array
    forces: Array
    carried: Array
    couple: Array


def fall(mass: float, gravity: Array, start: tuple[Array, Array, Array], pieces: list[tuple[float, Forces]]) -> Any:
    """Return the states (position, velocity, angular momentum), (len(pieces) + 1, 9), at the ends of the pieces."""
    states = [np.concatenate(start)]
    for duration, acting in pieces:

        def rate(_: float, y: Array, acting: Forces = acting) -> Array:
            total, turn = mass * gravity + acting.carried, np.array(acting.couple)
            for point, force in zip(acting.points, acting.forces, strict=True):
                total = total + force
                turn = turn + np.cross(point - y[:3], force)
            return np.concatenate((y[3:6], total / mass, turn))

        run = solve_ivp(rate, (0.0, duration), states[-1], method="DOP853", rtol=1e-13, atol=1e-13)
        states.append(run.y[:, -1])
    return np.array(states)
