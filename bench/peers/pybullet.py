"""PyBullet on the two cases: the ellipse the hull of a prism, the terrain boxes; see `trundle.interop.pybullet`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version as package_version

from bench.measure import Run, milliseconds
from bench.peers import samples
from bench.reference import BallCase, EllipseCase
from trundle.interop import pybullet as peer

NAME = "PyBullet"
STEPS = (5e-3, 2e-3, 1e-3, 0.5e-3, 0.2e-3)  # s
QUICK = (2e-3, 1e-3)
SETTINGS = {
    "ball": (("defaults", 5e-3, {"contact": "default"}, STEPS), ("200 iterations", 5e-3, {}, STEPS)),
    "ellipse": (
        ("defaults, boxes 20 mm", 20e-3, {"contact": "default"}, STEPS[:3]),
        ("200 iterations, boxes 20 mm", 20e-3, {}, STEPS),
        ("200 iterations, boxes 5 mm", 5e-3, {}, STEPS[1:]),
    ),
}


def version() -> str:
    """Return the engine's version."""
    return package_version("pybullet")


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: settings times time steps."""
    name = "ball" if isinstance(case, BallCase) else "ellipse"
    for label, width, options, steps in SETTINGS[name]:
        for step in steps:
            quick = step in QUICK and (name == "ball" or label == "200 iterations, boxes 20 mm")
            yield Run(
                NAME, name, label, milliseconds(step), partial(samples, case, peer, step, width, **options), quick=quick
            )
