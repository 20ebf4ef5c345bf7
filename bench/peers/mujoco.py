"""MuJoCo on the two cases: the plate is a heavy box, the terrain a height field; see `trundle.interop.mujoco`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import mujoco

from bench.measure import Run, milliseconds
from bench.peers import samples
from bench.reference import BallCase, EllipseCase
from trundle.interop import mujoco as peer

NAME = "MuJoCo"
STEPS = (5e-3, 2e-3, 1e-3, 0.5e-3, 0.2e-3, 0.1e-3)  # s
QUICK = (2e-3, 1e-3)
SETTINGS = {
    "ball": (
        ("defaults", 5e-3, {"contact": "default", "integrator": "euler"}, STEPS),
        ("hard", 5e-3, {}, STEPS),
        ("hard, RK4", 5e-3, {"integrator": "rk4"}, STEPS),
    ),
    "ellipse": (
        ("defaults, height field 5 mm", 5e-3, {"contact": "default", "integrator": "euler"}, STEPS[:5]),
        ("hard, height field 20 mm", 20e-3, {}, STEPS[:5]),
        ("hard, height field 5 mm", 5e-3, {}, STEPS),
        ("hard, height field 2.5 mm", 2.5e-3, {}, STEPS[2:]),
    ),
}


def version() -> str:
    """Return the engine's version."""
    return str(mujoco.__version__)


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: settings times time steps."""
    name = "ball" if isinstance(case, BallCase) else "ellipse"
    for label, width, options, steps in SETTINGS[name]:
        for step in steps:
            execute = partial(samples, case, peer, step, width, **options)
            quick = step in QUICK and width == 5e-3 and options.get("integrator") != "rk4"
            yield Run(NAME, name, label, milliseconds(step), execute, quick=quick)
