"""The verb `sweep`: many runs of one scenario, one Parquet table; a sweep that was stopped can be resumed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trundle.cluster import Cluster, connect_scheduler
from trundle.errors import InputError, StorageError, TrundleError, optional
from trundle.records.sealed import reading
from trundle.records.tables import write_parquet
from trundle.records.whole import read_bytes, write_bytes
from trundle.scenarios.engine.folder import own_folder
from trundle.scenarios.engine.journal import Journal, open_journal
from trundle.scenarios.engine.processes import cores, in_processes
from trundle.scenarios.engine.sweep_points import Row, SweepPoint, axes_of, points_of
from trundle.scenarios.files import CSV_BYTES
from trundle.scenarios.problems import Toml
from trundle.scenarios.scenario import Scenario, load_scenario
from trundle.version import __version__

if TYPE_CHECKING:
    from trundle.records import Trajectory

TABLE, PLAN, ROWS, KEPT = "sweep.parquet", "sweep.json", "rows.jsonl", "trajectories"
_TABLE_EVERY = 30.0  # s, how often the table of the finished runs is written during a sweep
_OK = ("success", "rest")
MOST_KEPT = 100_000  # runs whose folders are kept: file systems stay usable

Progress = Callable[[int, int], None]
"""Called with the numbers of runs done and of all runs."""


@dataclass(frozen=True)
class Sweep:
    """Result of a sweep.

    Attributes
    ----------
    table : Path
        The Parquet file, one row a run, in the order of the points: ``run``, the keys of `over`, ``status``,
        ``feasible``, ``message``, ``seed``, ``wall_time`` (s), ``metric.<name>``, ``part.<name>.status``.
    rows : tuple of dict
        The same rows.
    resumed : int
        Number of rows that an earlier, interrupted sweep had already computed.
    complete : bool
        False if it was interrupted.
    """

    table: Path
    rows: tuple[Row, ...]
    resumed: int
    complete: bool

    @property
    def failed(self) -> int:
        """Number of runs that did not succeed."""
        return sum(row["status"] not in _OK for row in self.rows)


@dataclass(frozen=True)
class SweepTask:
    """Settings that all runs of a sweep share; picklable, so that workers can run its points.

    Of each run the columns `keep` of its table are written to the folder `out`. ``digest``: of the scenario with
    `seed`, without the values swept over.
    """

    scenario: str
    overrides: tuple[str, ...] = ()
    allow_path: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    out: str = ""
    seed: int | None = None
    digest: str = ""

    def run(self, point: SweepPoint) -> Row:
        """Return the row of a point; an error of the run becomes its status and message."""
        from trundle.scenarios.engine.run import compute_scenario, measure

        begin, summary, status, message = time.perf_counter(), None, "failed", ""
        motion: Trajectory | None = None
        try:
            loaded = load_scenario(self.scenario, [*self.overrides, *point.overrides], point.seed, self.allow_path)
            if self.keep:
                result = compute_scenario(loaded)
                summary, motion = result.summary, result.trajectory
            else:
                summary = measure(loaded)
        except InputError as error:
            status, message = "bad-input", str(error)
        except StorageError:
            raise  # of the machine, not of the run: it would fail the rows of all that follow, and stay in the journal
        except TrundleError as error:
            message = str(error)
        except Exception as error:  # a bug in one run must not end a sweep of thousands
            message = f"{type(error).__name__}: {error}"
        row = row_of(point, status, message)
        if motion is not None:
            self._write(point, motion)
        if summary is not None:
            row |= {name: summary[name] for name in ("status", "feasible", "seed")} | {"message": summary["advice"]}
            row |= {f"metric.{name}": entry["value"] for name, entry in summary["metrics"].items()}
            row |= {f"part.{name}.status": part["status"] for name, part in summary["parts"].items()}
        return row | {"wall_time": round(time.perf_counter() - begin, 6)}

    def run_elsewhere(self, point: SweepPoint) -> Row:
        """Return the row of a point on another machine, once the scenario's files there are those of the sweep."""
        _same_files(self)
        return self.run(point)

    def _write(self, point: SweepPoint, motion: Trajectory) -> None:
        """Write what is kept of a run; a column that it does not have is a fault of the sweep, not of the run."""
        try:
            frame = motion.to_dataframe(self.keep)
        except InputError as error:
            raise InputError("--keep", error.value, error.allowed) from None
        frame.insert(0, "run", point.number)
        write_parquet(frame, Path(self.out, kept_name(point)))


@cache
def _same_files(task: SweepTask) -> None:
    """Raise if a scenario is not here as it is where its sweep began."""
    allowed = "found by the workers of the scheduler as it is here: the same files at the same paths"
    try:
        found = _digest(load_scenario(task.scenario, task.overrides, task.seed, task.allow_path))
    except InputError as error:
        raise InputError("scenario", task.scenario, f"{allowed} ({error})") from None
    if found != task.digest:
        raise InputError("scenario", task.scenario, allowed)


def kept_name(point: SweepPoint) -> str:
    """Return the name of the file in the sweep's folder that holds what is kept of a run."""
    return f"{KEPT}/{point.number:06d}.parquet"


def row_of(point: SweepPoint, status: str, message: str) -> Row:
    """Return the row of a run that computed nothing."""
    known: Row = {"run": point.number} | dict(point.values)
    return known | {
        "status": status,
        "feasible": False,
        "message": message,
        "seed": known.get("seed", point.seed),
        "wall_time": 0.0,
    }


def sweep(
    scenario: str | Path,
    over: Sequence[str],
    out: str | Path,
    *,
    samples: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    keep: Sequence[str] = (),
    overrides: Sequence[str] = (),
    allow_path: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Sweep:
    """Run a scenario many times and write one Parquet table; a sweep that was stopped is resumed.

    A run that fails leaves a row with its status: ``bad-input`` if its values are not allowed, ``failed`` if it ended
    by an error of the program.

    Parameters
    ----------
    scenario : str or Path
        A name of the library, or the path of a file.
    over : sequence of str
        ``table.key=a:b:n`` or ``table.key=v1,v2,...``.
    out : path
        A new or empty folder, or the one of the same sweep, which is then resumed.
    samples, seed : int, optional
        Number of random draws, which replace the grid; seed of the draws or, on a grid, of every run.
    jobs : int, optional
        Number of processes; default: one for each processor.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers have trundle and see the same files.
    keep : sequence of str
        Columns of the runs' trajectories, as of `Trajectory.to_dataframe`, kept over time: one file a run in the folder
        ``trajectories``, which ``pandas.read_parquet`` reads as one table, with the number of the ``run``.
    overrides, allow_path, progress
        See `load_scenario` and `Progress`.

    Raises
    ------
    InputError
        If the scenario, a key or the folder is not acceptable; nothing is written then. If a run has no such column as
        `keep` names: the sweep ends there.
    MissingExtraError
        If a package that it needs is not installed.
    """
    for package in ("pyarrow", *(() if scheduler else ("joblib",))):
        optional(package, package, "scale")
    axes, named = axes_of(over), _where(scenario)
    folders = tuple(str(Path(folder).resolve()) for folder in allow_path)
    task = SweepTask(named, tuple(overrides), folders, tuple(keep), str(Path(out).resolve()))
    points = points_of(axes, samples, (base := load_scenario(named, overrides, seed, task.allow_path)).seed)
    task = replace(task, seed=base.seed, digest=_check_points(task, base, points))
    plan = {"scenario": named, "digest": task.digest, "set": list(overrides), "over": list(over)}
    plan |= {"samples": samples, "seed": base.seed, "runs": len(points), "version": __version__}
    plan |= {"keep": list(keep)} if keep else {}
    with connect_scheduler(scheduler) as cluster, _open_folder(Path(out), plan, points) as journal:
        return _sweep_points(task, points, plan, journal, jobs, cluster, progress)


def _sweep_points(
    task: SweepTask,
    points: Sequence[SweepPoint],
    plan: dict[str, Toml],
    journal: Journal,
    jobs: int | None,
    cluster: Cluster | None,
    progress: Progress | None,
) -> Sweep:
    """Run the points that are ahead."""
    folder, rows = journal.path.parent, journal.rows
    resumed = len(rows)
    ahead = [point for point in points if point.number not in rows]
    done = _compute_rows(task, ahead, jobs, cluster)
    tell = (lambda: progress(len(rows), len(points))) if progress else lambda: None
    complete = _collect_rows(done, journal, tell, lambda: _write_table(folder, rows, plan))
    ordered = _write_table(folder, rows, plan)
    return Sweep(folder / TABLE, tuple(ordered), resumed, complete)


def _collect_rows(
    done: Iterator[Row], journal: Journal, tell: Callable[[], None], save: Callable[[], list[Row]]
) -> bool:
    """Write rows to the journal as they are computed; return False if this was interrupted."""
    saved, complete = time.monotonic(), True
    try:
        tell()
        for row in done:
            journal.add(row)
            tell()
            if time.monotonic() - saved > _TABLE_EVERY:
                save()
                saved = time.monotonic()
    except KeyboardInterrupt:
        complete = False
    return complete


def _where(scenario: str | Path) -> str:
    """Return the scenario's name, or the full path of its file."""
    from trundle.scenarios import catalogue

    text = str(scenario)
    return text if text in catalogue.names() or not Path(text).exists() else str(Path(text).resolve())


def _check_points(task: SweepTask, base: Scenario, points: Sequence[SweepPoint]) -> str:
    """Return the scenario's digest; raise if first and last point are both refused: then a key is wrong."""
    refused = []
    for point in (points[0], points[-1]):
        try:
            load_scenario(task.scenario, [*task.overrides, *point.overrides], point.seed, task.allow_path)
        except InputError as error:
            refused.append(error)
    if len(refused) == 2:
        raise refused[0]
    return _digest(base)


def _digest(base: Scenario) -> str:
    """Return a digest of a scenario and its data."""
    digest = hashlib.sha256(base.resolved_toml().encode())
    for name, content in sorted(base.data_contents().items()):
        digest.update(name.encode() + hashlib.sha256(content).digest())
    return digest.hexdigest()


@contextmanager
def _open_folder(folder: Path, plan: dict[str, Toml], points: Sequence[SweepPoint]) -> Iterator[Journal]:
    """Lock the folder for this process; yield its journal, with the rows that are already computed."""
    kept = points if "keep" in plan else ()
    if len(kept) > MOST_KEPT:
        raise InputError("--keep", plan["keep"], f"left out in sweeps of more than {MOST_KEPT:,} runs: each has a file")
    with own_folder(folder, "sweep", "that of the same sweep") as own:
        known, file = None, folder / PLAN
        if PLAN in own.names and file.exists():
            with reading(file, "the plan of a sweep, written by trundle"):
                known = json.loads(read_bytes(file, CSV_BYTES, "path", str(file)))
        if known is not None and known != plan:
            keys = plan | known if isinstance(known, dict) else {}
            different = [key for key in keys if known.get(key) != plan.get(key)]
            hint = f" (that one differs in: {', '.join(different)})" if different else ""
            raise InputError("--out", str(folder), f"a new or empty folder, or that of the same sweep{hint}")
        own.target(TABLE)
        for point in kept:
            own.target(kept_name(point))
        with open_journal(own.target(ROWS), points) as journal:
            if known is None:
                write_bytes(own.target(PLAN), (json.dumps(plan, indent=2) + "\n").encode())
            yield journal


def _compute_rows(
    task: SweepTask, points: Sequence[SweepPoint], jobs: int | None, cluster: Cluster | None
) -> Iterator[Row]:
    """Yield rows as they are computed; if a process dies, only its own run fails."""
    if cluster is not None:
        done = cluster.run(task.run_elsewhere, points, ordered=False)
    else:
        done = in_processes(task.run, points, cores() if jobs is None else jobs, ordered=False)
    for number, row in done:
        yield row_of(points[number], "failed", "the process of this run died") if row is None else row


def _write_table(folder: Path, rows: dict[int, Row], plan: dict[str, Toml]) -> list[Row]:
    """Write the table of the rows computed so far and return them, ordered."""
    pa, parquet = (optional(module, "pyarrow", "scale") for module in ("pyarrow", "pyarrow.parquet"))
    ordered = [rows[number] for number in sorted(rows)]
    names = list(dict.fromkeys(name for row in ordered for name in row))
    columns = {name: _column(pa, name, [row.get(name) for row in ordered]) for name in names}
    sink = pa.BufferOutputStream()
    table = pa.table(columns).replace_schema_metadata({"trundle_sweep": json.dumps(plan)})
    parquet.write_table(table, sink)
    write_bytes(folder / TABLE, sink.getvalue().to_pybytes())
    return ordered


def _column(pa: Any, name: str, values: list[Toml]) -> Any:
    """Return a column of one type: numbers, texts, arrays; JSON texts where the values have no type in common."""
    if name.startswith("metric."):
        return pa.array(values, type=pa.float64())
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([json.dumps(value) for value in values])
