"""The verb `run`: builds a scenario, simulates it, measures it, and writes the folder of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.bars import reporting
from trundle.checks import choice, integer
from trundle.errors import MissingExtraError, SimulationError, StorageError, TrundleError
from trundle.interrupts import check, hold_interrupts, opened
from trundle.records.whole import kept_elsewhere
from trundle.scenarios.engine import acceptance
from trundle.scenarios.engine import folder as files
from trundle.scenarios.engine.building import Experiment, Part, all_parts, build_all
from trundle.scenarios.engine.clock import Clock, Progress
from trundle.scenarios.engine.log import RUN, log_to_file
from trundle.scenarios.engine.summary import MetricEntry, Summary, audit_entry
from trundle.scenarios.engine.trials import over_processes
from trundle.scenarios.scenario import Scenario, load_scenario
from trundle.scenarios.system import system
from trundle.simulate.watching import notify
from trundle.status import Status
from trundle.version import __version__

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.report import Metric

_DONE = (Status.SUCCESS, Status.REST)


@dataclass(frozen=True)
class Result:
    """Result of a run: its folder, `summary.json` as a mapping, and the trajectories.

    Parameters
    ----------
    directory : Path
        Folder of the run.
    summary : Summary
        Content of `summary.json`.
    trajectory : Trajectory or None
        The main run; None if the simulation failed before its first sample.
    parts : mapping of str to Trajectory
        Comparison runs.
    interrupted : bool
        Whether the user stopped it: the record is saved, and pictures are left to `trundle report`.
    meanings : mapping of str to str
        Meaning of each metric, in a sentence.
    hints : mapping of str to str
        "did you mean ...?" for names in [acceptance] that are not metrics of the run but close to one.
    """

    directory: Path
    summary: Summary
    trajectory: Trajectory | None
    parts: Mapping[str, Trajectory] = field(default_factory=dict)
    interrupted: bool = False
    meanings: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """How the main run ended; limits of the scenario included."""
        return Status.from_label(self.summary["status"])

    @property
    def exit_code(self) -> int:
        """0 done and all limits hold, 1 the task failed or a limit was violated, 130 interrupted."""
        if self.interrupted:
            return 130
        return 0 if self.status in _DONE else 1


def run(
    scenario: Scenario | str | Path,
    out: str | Path | None = None,
    seed: int | None = None,
    plots: bool = True,
    view: bool = False,
    progress: Progress | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    *,
    verbose: bool = False,
    plot_format: str = "png",
    plot_style: str = "screen",
) -> Result:
    """Run a scenario and write its folder.

    The folder holds `scenario.toml` (resolved: running it again gives the same result), `summary.json`,
    `trajectory.nc` and one `trajectory-<part>.nc` a part, `plots/*.png`, `viewer.html` and `log.txt`.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A loaded scenario, the name of one in the library, or the path of a file.
    out, seed : str or Path, int, optional
        Folder of the run, default ``runs/<name>-<time>``; in place of the scenario's own seed.
    plots, view : bool
        Whether to write pictures, and to open the viewer page in the browser.
    plot_format, plot_style : "png", "svg" or "pdf"; "screen", or "paper" for a column of two in print
    progress, verbose : callable, optional; bool
        Called with (name of what is running, share of the whole run done); whether to show a bar of it.
    jobs, scheduler : int, str, optional
        Processes for trials (default: one a core; results are the same), or a Dask scheduler whose workers run them.

    Raises
    ------
    InputError
        If the scenario or the folder is not acceptable; nothing is written then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> scenario = tr.load_scenario("rock-undulating", ["simulation.duration=0.2"])  # s
    >>> with TemporaryDirectory() as folder:
    ...     result = tr.run(scenario, folder, plots=False)
    >>> result.status.label, result.summary["metrics"]["gap"]["holds"]
    ('success', True)
    """
    scenario, jobs = _load_with_seed(scenario, seed), None if jobs is None else integer("jobs", jobs, minimum=1)
    drawn = _Pictures(plots, plot_format, plot_style)
    with reporting(verbose, progress, lambda what, share: (f"{scenario.name}: {what}", share)) as told:
        with over_processes(jobs, scheduler):
            result = _run(scenario, out, drawn, Clock(told))
    if view and not result.interrupted:
        _open(result.directory / "viewer.html")
    return result


@dataclass(frozen=True)
class _Pictures:
    """What is drawn of a run."""

    plots: bool
    plot_format: str
    plot_style: str

    def __post_init__(self) -> None:
        choice("plot_format", self.plot_format, ("png", "svg", "pdf"))
        choice("plot_style", self.plot_style, ("screen", "paper"))


def _run(scenario: Scenario, out: str | Path | None, drawn: _Pictures, clock: Clock) -> Result:
    experiments = _build_experiments(scenario, clock)
    with files.run_folder(out, scenario) as folder, log_to_file(folder.target("log.txt")):
        files.write_scenario(folder.path, scenario, folder.target)
        RUN.info("trundle %s, scenario %s, kind %s, seed %d", __version__, scenario.name, scenario.kind, scenario.seed)
        result = _do_all(scenario, all_parts(scenario, experiments), folder, clock)
        result = _report(result, folder, clock, drawn)
        RUN.info("exit code %d", result.exit_code)
    return result


def _load_with_seed(scenario: Scenario | str | Path, seed: int | None) -> Scenario:
    if not isinstance(scenario, Scenario):
        return load_scenario(scenario, seed=seed)
    return scenario if seed is None else scenario.with_seed(seed)


def measure(scenario: Scenario, progress: Progress | None = None) -> Summary:
    """Run a scenario without leaving a folder and return what its `summary.json` would hold; see `compute_scenario`."""
    return compute_scenario(scenario, progress).summary


def compute_scenario(scenario: Scenario, progress: Progress | None = None) -> Result:
    """Run a scenario without leaving a folder and return its result, whose directory means nothing.

    Raises
    ------
    InputError
        If the scenario is not acceptable.
    KeyboardInterrupt
        If the user stopped it.
    """
    clock = Clock(progress)
    result = _do_all(scenario, all_parts(scenario, _build_experiments(scenario, clock)), None, clock)
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _build_experiments(scenario: Scenario, clock: Clock) -> dict[str, Experiment]:
    with clock("build"):
        tell = clock.stage("build", "build", ["simulate", "report"])
        experiments = build_all(scenario)
        if tell is not None:
            tell(1.0)
    return experiments


def _do_all(scenario: Scenario, parts_to_run: Iterator[Part], folder: files.OwnedFolder | None, clock: Clock) -> Result:
    """Run the parts in their order; save the trajectory of each as soon as it is computed, if there is a directory."""
    done: dict[str, Trajectory] = {}
    times: dict[str, float] = {}
    outcomes: dict[str, tuple[Status, str]] = {}
    for part in parts_to_run:
        name, begin = part.name, time.perf_counter()
        with hold_interrupts():  # until it is saved
            outcomes[name], trajectory = _do(part, clock, late=bool(outcomes))
            times[name] = time.perf_counter() - begin
            RUN.info("%s: %s after %.3f s", name or "main run", outcomes[name][0].label, times[name])
            if trajectory is not None:
                own = trajectory.metadata.get("wall_time", {})
                times[name] = own.get(part.phase, times[name])
                clock.add("build", own.get("build", 0.0))
                done[name] = _label_trajectory(trajectory, scenario, part, times[name])
                outcomes[name] = _save_trajectory(done[name], folder, name, outcomes[name])
                notify(partial(done.__getitem__, name))
        if part.phase == "solve" or not name:
            clock.add(part.phase, times[name])
        if outcomes[name][0] is Status.INTERRUPTED or (not name and trajectory is None):
            break
    if "" not in outcomes:  # stopped before its main run: the first part takes its place
        first = next(iter(outcomes))
        outcomes[""], times[""] = outcomes[first], times[first]
        if first in done:
            done[""] = done[first]
            outcomes[""] = _save_trajectory(done[first], folder, "", outcomes[first])
    main, parts = done.get(""), {name: value for name, value in done.items() if name}
    interrupted = any(status is Status.INTERRUPTED for status, _ in outcomes.values())
    criteria, hints = scenario.tables.acceptance, {}
    try:
        metrics, known = _metrics(scenario, main, parts)
        entries = acceptance.judge(criteria, metrics)
        hints = acceptance.misspelt(criteria, known)
    except KeyboardInterrupt:
        metrics, entries, interrupted = {}, {}, True
    for name, hint in hints.items():
        RUN.warning("acceptance.%s: no metric of this run; %s", name, hint)
    with hold_interrupts():
        summary = _summary(scenario, outcomes, entries, done, times, clock)
        if folder is not None:
            files.write_summary(folder.target("summary.json"), summary)
    meanings = {name: metric.meaning for name, metric in metrics.items()}
    return Result(folder.path if folder else Path(), summary, main, parts, interrupted, meanings, hints)


def _save_trajectory(
    trajectory: Trajectory, folder: files.OwnedFolder | None, name: str, outcome: tuple[Status, str]
) -> tuple[Status, str]:
    """Save a trajectory and return the outcome of its run: interrupted, if an interrupt came while it was written."""
    file = f"trajectory-{name}.nc" if name else "trajectory.nc"
    try:
        with hold_interrupts():
            if folder is not None:
                trajectory.save(folder.target(file))
            check()
    except StorageError as error:
        raise kept_elsewhere(error, file, trajectory.save) from None
    except KeyboardInterrupt:
        return Status.INTERRUPTED, ""
    return outcome


def _do(part: Part, clock: Clock, late: bool) -> tuple[tuple[Status, str], Trajectory | None]:
    """Run one part; return how it ended, a message, and its trajectory, if there is one.

    An error of a `late` part does not end the run, so the results of earlier parts are kept.
    """
    trajectory = None
    try:
        with opened():
            share = clock.stage(part.name or part.phase, part.phase, ["simulate"] * part.ahead + ["report"])
            trajectory = part.run(share)
            if share is not None:
                share(1.0)
    except SimulationError as error:
        RUN.warning("%s", error)
        return (error.status, str(error)), error.result
    except KeyboardInterrupt:
        return (Status.INTERRUPTED, ""), trajectory
    except TrundleError as error:
        if not late:
            raise
        RUN.warning("%s", error)
        return (Status.FAILED, str(error)), None
    message = str(trajectory.metadata.get("message", ""))
    if trajectory.status is Status.SAFE_STOP and not message:
        message = str(trajectory.transitions[-1]["reason"])
    return (trajectory.status, message), trajectory


def _advice(status: Status, message: str, advice: str | None = None) -> str:
    return ": ".join(text for text in (message, status.advice if advice is None else advice) if text)


def _summary(
    scenario: Scenario,
    outcomes: Mapping[str, tuple[Status, str]],
    entries: dict[str, MetricEntry],
    done: Mapping[str, Trajectory],
    times: Mapping[str, float],
    clock: Clock,
) -> Summary:
    status, message = outcomes[""]
    if status in _DONE and not acceptance.hold(entries):
        status = Status.LIMIT_VIOLATED
    advice = done[""].metadata.get("advice", status.advice) if "" in done else status.advice
    return {
        "scenario": scenario.name,
        "kind": scenario.kind,
        "status": status.label,
        "advice": _advice(status, message, advice),
        "version": __version__,
        "seed": scenario.seed,
        "wall_time": clock.times,
        "feasible": "" in done and done[""].feasible,
        **audit_entry(done.get("")),
        "metrics": entries,
        "parts": {
            name: {
                "status": outcomes[name][0].label,
                "advice": _advice(*outcomes[name]),
                "feasible": name in done and done[name].feasible,
                **audit_entry(done.get(name)),
                "wall_time": {"simulate": times[name]},
            }
            for name in outcomes
            if name
        },
    }


def _metrics(
    scenario: Scenario, main: Trajectory | None, parts: Mapping[str, Trajectory]
) -> tuple[Mapping[str, Metric], set[str]]:
    """Return the metrics of a run and the names of all known metrics; both empty where they cannot be computed."""
    from trundle.report import RunSet

    if main is None or len(main) < 2:
        return {}, set()
    runs = RunSet(main, parts, frozenset(scenario.tables.acceptance))
    try:
        found = system(scenario.kind).metrics(runs)
    except TrundleError as error:
        RUN.warning("metrics: %s", error)
        return {}, set()
    return found, runs.known | set(found)


def _label_trajectory(trajectory: Trajectory, scenario: Scenario, part: Part, seconds: float) -> Trajectory:
    """Return the trajectory with the run's metadata: kind, scenario, part, seed, version and wall time."""
    known = dict(trajectory.metadata)
    times = dict(known.get("wall_time", {})) | {part.phase: seconds}
    known |= {"part": part.name} if part.name else {}
    known |= {
        "kind": scenario.kind,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "version": __version__,
        "wall_time": times,
    }
    return replace(trajectory, metadata=known)


def _report(result: Result, folder: files.OwnedFolder, clock: Clock, drawn: _Pictures) -> Result:
    """Write pictures and viewer page and the time they took; none after an interrupt, and one here loses no data."""
    if result.trajectory is None or len(result.trajectory) < 2 or result.interrupted:
        return result
    interrupted = False
    with clock("report"):
        try:
            from trundle.scenarios.engine.pictures import write_report

            written = write_report(
                folder.path,
                drawn.plots,
                target=folder.target,
                plot_format=drawn.plot_format,
                plot_style=drawn.plot_style,
                progress=clock.stage("plots and page", "report", []),
            )
            for path in written:
                RUN.info("wrote %s", path.name)
        except MissingExtraError as error:
            RUN.warning("%s", error)
        except KeyboardInterrupt:
            interrupted = True
    summary: Summary = {**result.summary, "wall_time": clock.times}
    files.write_summary(folder.target("summary.json"), summary)
    return replace(result, summary=summary, interrupted=interrupted)


def _open(page: Path) -> None:
    if page.exists():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
