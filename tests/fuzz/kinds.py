"""Every kind of file that trundle reads: how a good one is written, how it is read, and what damages it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tomli_w

from tests.fuzz import damage
from tests.fuzz.cases import BASES
from tests.fuzz.commands import COMMANDS
from tests.fuzz.kind import Kind, plain
from tests.fuzz.robots import ROBOTS
from tests.fuzz.tables import TABLES
from tests.report.synthetic import ball_on_plate, disk_down_slope
from trundle.numerics.compiled import cache as compiled
from trundle.records import Plan, Reference, Trajectory, load_plan, load_trajectory
from trundle.scenarios import load_scenario
from trundle.scenarios.engine import folder as folders
from trundle.scenarios.engine import journal, sweep
from trundle.scenarios.engine.sweep_points import axes_of, points_of
from trundle.status import Status
from trundle.systems.walking.plan.plan import WalkPlan, load_walk, repeat

POINTS = points_of(axes_of(["object.mass=1:4:4"]), None, 0)
PLAN = {"scenario": "x", "digest": "d", "set": [], "over": ["object.mass=1:4:4"], "samples": None, "seed": 0, "runs": 4}
OURS = ("scenario.toml", "plots/a.png", "data/b.csv")


def read_trajectory(path: Path, load: Callable[[Path], Trajectory] = load_trajectory) -> str:
    """Read a trajectory, and again what is saved of it."""
    run = load(path)
    repr((run, run.kind, run.dimension, run.transitions, run.layout))
    if not np.all(np.isfinite(run.time)) or np.any(np.diff(run.time) < 0):
        raise RuntimeError("times that do not ascend")
    for name, values in run.final.items():
        if values.dtype.kind not in "fiubU":
            raise RuntimeError(f"{name} is of type {values.dtype}")
    dataset = {name: (v.dims, v.values, dict(v.attrs)) for name, v in run.dataset.variables.items()}
    scene = [vars(body) for body in run.scene]
    said = repr(plain([dataset, run.status, run.feasible, dict(run.metadata), scene]))
    if (
        load is load_trajectory
        and read_trajectory(run.save(path.with_name("again.nc")), lambda p: load_trajectory(p)) != said
    ):
        raise RuntimeError("saved again it is another one")
    return said


def read_plan(path: Path) -> str:
    """Read a plan and use it."""
    plan = load_plan(path)
    repr((plan, plan.wall_time, plan.duration, plan.reference and plan.reference.at(0.3)))
    plan.save(path.with_name("again.npz"))
    return repr(plain([vars(plan) | {"reference": vars(plan.reference) if plan.reference else None}]))


def read_walk(path: Path) -> str:
    """Read the plan of a walk and use it."""
    plan = load_walk(path)
    with np.errstate(over="ignore"):
        repr((plan.at(0.2), plan.middles, plan.length, repeat(plan, 2), [plan.phases[int(k)] for k in plan.phase]))
    if not all(np.all(np.isfinite(v)) for v in vars(plan).values() if isinstance(v, np.ndarray)):
        raise RuntimeError("not finite")
    plan.save(path.with_name("again.npz"))
    return repr(plain(vars(plan)))


def a_plan(path: Path) -> Path:
    """Write a plan with a reference."""
    times = np.linspace(0, 1, 5)
    reference = Reference(np.linspace(0, 1, 9), np.ones((9, 3)), np.ones((9, 2)), ((0, 1),))
    return Plan(
        Status.GOAL_NOT_REACHED, times, np.outer(times, [1.0, 2.0]), np.outer(times, [3.0]), ((0, 1),),
        {"kkt_residual": 1e-9, "friction_use": float("nan")}, ({"nodes": 4, "solve": 0.5},), reference=reference,
        message="why",
    ).save(path)  # fmt: skip


def a_walk(path: Path) -> Path:
    """Write the plan of a walk of four intervals, one of them an impact."""
    n, N, rng = 8, 4, np.random.default_rng(1)
    return WalkPlan(
        times=np.array([0.0, 0.1, 0.2, 0.2, 0.3]), q=rng.normal(size=(N + 1, n)), nu=rng.normal(size=(N + 1, n)),
        acceleration=rng.normal(size=(N, n)), torque=rng.normal(size=(N, n - 6)), force=rng.normal(size=(N, 2, 3)),
        moment=rng.normal(size=(N, 2, 3)), point=rng.normal(size=(N, 2, 3)), standing=np.ones((N, 2), dtype=bool),
        phase=np.array([0, 0, 1, 1]), phases=("left swing", "right swing"), joints=("left", "right"), mirror=np.eye(n),
        gravity=np.array([0.0, 0.0, -9.81]), statistics={"cost": 1.0, "iterations": 3}, settings={"speed": 1.0},
        z=np.ones(5), dual=np.ones(9),
    ).save(path)  # fmt: skip


def a_journal(path: Path) -> Path:
    """Write the journal of a sweep."""
    with journal.open_journal(path, POINTS) as one:
        for point in POINTS:
            row = sweep.row_of(point, "success", "ok") | {"metric.x": 0.5, "metric.y": None, "part.a.status": "success"}
            one.add(row)
    return path


def read_journal(path: Path) -> dict[int, str]:
    """Read the rows of a journal; a lost one is computed again."""
    with journal.open_journal(path, POINTS) as one:
        return {number: repr(row) for number, row in one.rows.items()}


def a_list(path: Path) -> Path:
    """Write the list of a folder's files, and the files."""
    with folders.own_folder(path.parent, "run", "") as own:
        for name in OURS:
            own.target(name).write_text(name)
    return path


def read_list(path: Path) -> str:
    """Lock the folder, and remove what is trundle's there; the user's own files stay."""
    mine = path.parent.parent / "mine.csv"
    mine.write_text("mine")
    for name in OURS:
        (path.parent / name).parent.mkdir(exist_ok=True)
        (path.parent / name).write_text(name)
    with folders.own_folder(path.parent, "run", "") as own:
        names = sorted(name for name in own.names if os.path.isfile((own.path / name).resolve()))
        own.clear()
    if mine.read_text() != "mine":
        raise RuntimeError("the user's file is gone")
    return repr(names)


def read_sweep_plan(path: Path) -> str:
    """Go on with a sweep."""
    with sweep._open_folder(path.parent, dict(PLAN), POINTS) as one:
        return repr(one.rows)


def a_sweep_plan(path: Path) -> Path:
    """Begin a sweep."""
    read_sweep_plan(path)
    return path


def a_scenario(path: Path) -> Path:
    """Write a scenario with limits of its metrics."""
    limits = {"radius_error_percent": {"maximum": 0.1, "published": 0.1, "source": "a paper"}}
    path.write_text(tomli_w.dumps(BASES["plate"] | {"acceptance": limits}))
    return path


def _build(to: Path) -> None:
    to.write_bytes(b"library" * 100)


def read_library(path: Path) -> bytes:
    """Return a library of the cache, built again if it is not what was built."""
    os.environ["TRUNDLE_CACHE"] = str(path.parent)
    return compiled.fetch("f", "ab" * 32, _build).read_bytes()


def a_library(path: Path) -> Path:
    """Build a library."""
    path.parent.chmod(0o700)
    read_library(path)
    return next(path.parent.glob(f"*{path.suffix}"))


_BYTES, _TEXT = (damage.bytes_of,), (damage.text_of,)
KINDS: dict[str, Kind] = {
    "trajectory.nc": Kind(
        lambda path: ball_on_plate(duration=0.05).save(path),
        read_trajectory,
        _BYTES,
        True,
        damage.netcdf_under_checksum,
    ),
    "plane.nc": Kind(
        lambda path: disk_down_slope(duration=0.05).save(path),
        read_trajectory,
        _BYTES,
        True,
        damage.netcdf_under_checksum,
    ),
    "plan.npz": Kind(a_plan, read_plan, _BYTES, True, damage.npz_under_checksum),
    "walk.npz": Kind(a_walk, read_walk, _BYTES, True, damage.npz_under_checksum),
    "rows.jsonl": Kind(a_journal, read_journal, (*_BYTES, *_TEXT), True, damage.row_under_checksum),
    "sweep.json": Kind(a_sweep_plan, read_sweep_plan, (*_TEXT, damage.json_of), True),
    ".trundle.jsonl": Kind(a_list, read_list, (*_TEXT, damage.lines_of), True),
    "scenario.toml": Kind(a_scenario, lambda path: load_scenario(path).resolved_toml(), _TEXT),
    "library.so": Kind(a_library, read_library, _BYTES, True),
    "library.sha256": Kind(a_library, read_library, (*_BYTES, *_TEXT), True),
    **ROBOTS,
    **TABLES,
    **COMMANDS,
}
