"""Drake on the two cases, with point contact: the terrain is boxes; see `trundle.interop.drake`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version as package_version

from bench.measure import Run, milliseconds
from bench.peers import samples
from bench.reference import BallCase, EllipseCase
from trundle.interop import drake as peer

NAME = "Drake"
STEPS = (5e-3, 2e-3, 1e-3, 0.5e-3, 0.2e-3)  # s
QUICK = (2e-3, 1e-3)
ACCURACIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
SETTINGS = {
    "ball": (("SAP", "sap", 1e6, 5e-3, STEPS), ("Similar", "similar", 1e6, 5e-3, STEPS[:4])),
    "ellipse": (
        ("SAP", "sap", 1e8, 10e-3, STEPS),
        ("Similar", "similar", 1e8, 10e-3, STEPS),
        ("Lagged", "lagged", 1e7, 5e-3, STEPS),
    ),
}


def version() -> str:
    """Return the engine's version."""
    return package_version("drake")


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: settings times time steps or accuracies."""
    name = "ball" if isinstance(case, BallCase) else "ellipse"
    boxes = "" if name == "ball" else ", boxes {:g} mm"
    for label, solver, stiffness, width, steps in SETTINGS[name]:
        for step in steps:
            text = f"{label}, {stiffness:.0e} N/m{boxes.format(1e3 * width)}"
            execute = partial(samples, case, peer, step, width, solver=solver, stiffness=stiffness)
            quick = step in QUICK and solver == ("sap" if name == "ball" else "similar")
            yield Run(NAME, name, text, milliseconds(step), execute, quick=quick)
    for accuracy in ACCURACIES if name == "ball" else ACCURACIES[:5]:
        execute = partial(samples, case, peer, 1e-2, 10e-3, solver="cenic", stiffness=1e6, accuracy=accuracy)
        quick = accuracy in ((1e-4, 1e-6) if name == "ball" else (1e-5,))
        yield Run(NAME, name, f"CENIC, 1e6 N/m{boxes.format(10)}, accuracy", f"{accuracy:g}", execute, quick=quick)
