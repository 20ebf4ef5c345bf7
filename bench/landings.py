"""Robots of example-robot-data dropped onto feet: how each run ends, its residuals, its time.

Run with ``python -m bench.robots landings``: the files, one a robot, are in ``bench/landings`` and
are ordinary scenarios.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_simpson

from trundle.errors import TrundleError
from trundle.models.rolling_tree import RollingTree
from trundle.records import Trajectory
from trundle.report.metrics import general
from trundle.scenarios import build, load_scenario

FOLDER = Path(__file__).parent / "landings"
HEAD = (
    f"{'robot':12s}{'dof':>4s}{'feet':>5s}  {'ends':12s}{'s':>6s}{'events':>7s}{'balance':>9s}{'made':>9s}"
    f"{'gap':>9s}{'slip':>9s}{'again':>6s}{'least N':>8s}{'ms build':>9s}{'ms run':>8s}"
)


def stored(run: Trajectory, robot: RollingTree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the energy (n,) of bodies and springs, J, and the power (n,) that dampers and friction take, W."""
    specs = {spec.joint_name or spec.name: spec for spec in robot.tree.specs}
    energy, power = np.array(run["energy"]), np.zeros(len(run))
    for j, spec in enumerate(specs[str(name)] for name in run["joint"]):
        energy += 0.5 * spec.stiffness * (run["joint_position"][:, j] - spec.rest) ** 2
        power += spec.damping * run["joint_velocity"][:, j] ** 2
    return energy, power - np.einsum("ijk,ijk->i", run["contact_force"], run["slip"])


def balance(run: Trajectory, robot: RollingTree) -> tuple[float, float]:
    """Return the worst error of the energy balance within a mode, and the most energy that an event made.

    Parts of the largest kinetic energy of the fall; the powers are summed by Simpson's rule over the samples.
    """
    energy, power = stored(run, robot)
    scale = max(float(np.ptp(run["energy"])), 1e-12)
    events = np.array([change["time"] for change in run.transitions]).reshape(-1, 1)
    at_event = np.any(np.abs(run.time - events) < 1e-12, axis=0)
    cuts = np.flatnonzero(at_event[:-1] | (np.diff(run.time) <= 0.0))
    edges = [0, *(int(cut) + 1 for cut in cuts if cut + 1 < len(run)), len(run)]
    drift, made = 0.0, 0.0
    for begin, end in pairwise(edges):
        if begin:
            made = max(made, float(energy[begin] - energy[begin - 1]) / scale)
        if end - begin < 3:
            continue
        taken = cumulative_simpson(power[begin:end], x=run.time[begin:end], initial=0.0)
        drift = max(drift, float(np.max(np.abs(energy[begin:end] - energy[begin] + taken))) / scale)
    return drift, made


def row(file: Path) -> str:
    """Return one line of the table."""
    begin = time.process_time()
    try:
        work: Any = build(load_scenario(file))
    except TrundleError as error:
        return f"{file.stem:12s} refused: {error}"
    built = time.process_time()
    run = work.run(None)
    ran = time.process_time()
    values, (drift, made) = general(run), balance(run, work.robot)
    return (
        f"{file.stem:12s}{work.robot.model().nv:4d}{len(work.robot.parts):5d}  {run.status.name.lower():12s}"
        f"{run.time[-1]:6.2f}{len(run.transitions):7d}{drift:9.1e}{made:9.1e}{values['gap']:9.1e}{values['slip']:9.1e}"
        f"{values['recomputed_share']:6.2f}{values['normal_force_min']:8.1f}"
        f"{(built - begin) * 1e3:9.0f}{(ran - built) * 1e3:8.0f}"
    )


def table(names: list[str]) -> None:
    """Print the table of the files in the folder, or of those named."""
    print(HEAD)
    for file in sorted(FOLDER.glob("*.toml")):
        if not names or file.stem in names:
            print(row(file), flush=True)
