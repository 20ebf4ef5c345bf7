"""Other simulators on the same cases, by `trundle.interop`: one module an engine, each with `version` and `runs`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from bench.measure import Samples, output_grid
from bench.reference import BallCase, EllipseCase
from bench.trundle_cases import ball_pair, ellipse_pair
from trundle.interop.peers import Peer, divide_interval
from trundle.interop.scene import PeerScene, scene_of

REACH = 1.0  # m, half the width of the ellipse's terrain
"""The ellipse keeps within it; the ball's plate moves and has no such end."""


@lru_cache(maxsize=4)
def scene(case: BallCase | EllipseCase, width: float = 5e-3) -> PeerScene:
    """Return a case as other simulators take it, terrain by its heights every `width` (m)."""
    pair, start = ball_pair(case) if isinstance(case, BallCase) else ellipse_pair(case)
    return scene_of(pair, start, reach=REACH, cells=round(2 * REACH / width))


def samples(case: BallCase | EllipseCase, peer: Peer, step: float, width: float = 5e-3, **options: Any) -> Samples:
    """Run a case with one time step (s); `options` go to the engine's ``run``."""
    times, made = output_grid(case), scene(case, width)
    found = peer.run(made, times, step, **options)
    body = [one.name for one in made.bodies].index("object" if isinstance(case, BallCase) else "body")
    at, turn = found.bodies[:, body, :3], found.bodies[:, body, 3:7]
    count = divide_interval(times, step)[1] * (len(times) - 1)
    if isinstance(case, BallCase):
        return Samples(at[:, :2], None, found.seconds, count)
    angle = np.unwrap(2 * np.arctan2(-turn[:, 2], turn[:, 0]))
    angle += 2 * np.pi * np.round((case.angle - angle[0]) / (2 * np.pi))
    return Samples(at[:, ::2], angle, found.seconds, count)
