"""The verb `reproduce`: named scenarios are run one after the other, their metrics compared with published values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from trundle.errors import StorageError, TrundleError
from trundle.records.whole import write_bytes
from trundle.scenarios import catalogue
from trundle.scenarios.engine import acceptance
from trundle.scenarios.engine.clock import Progress
from trundle.scenarios.engine.folder import OwnedFolder, own_folder
from trundle.scenarios.engine.run import run
from trundle.scenarios.problems import Problem, ScenarioError, suggestion
from trundle.scenarios.scenario import load_scenario
from trundle.status import Status
from trundle.version import __version__

COLUMNS = ("scenario", "figure", "published", "where", "ours", "limit", "unit", "verdict", "run")


@dataclass(frozen=True)
class FigureLine:
    """One row of the table: a metric of a scenario, its published value and source, our value, and its limit.

    Attributes
    ----------
    scenario, figure : str
        Names of the scenario and of the metric.
    published : float or None
    source : str
        Source of the published value, or the scenario's paper if none is given.
    ours : float or None
        None: not computed.
    sense, limit : str, float or None
        ``<=`` or ``>=``, and the number.
    unit, what : str
        Unit and meaning of the metric.
    holds : bool or None
        Whether our value is within the limit; None: there is no limit.
    status : str
        How the main run ended.
    folder : str
        Folder of the run that computed our value.
    """

    scenario: str
    figure: str
    published: float | None
    source: str
    ours: float | None
    sense: str | None
    limit: float | None
    unit: str
    what: str
    holds: bool | None
    status: str
    folder: str

    def cells(self) -> tuple[str, ...]:
        """Return the texts of `COLUMNS`."""
        limit = "" if self.limit is None else f"{self.sense} {self.limit:g}"
        verdict = {True: "holds", False: "violated", None: ""}[self.holds]
        ours = "not computed" if self.ours is None else f"{self.ours:.3g}"
        published = "" if self.published is None else f"{self.published:g}"
        place = (self.scenario, self.figure, published, self.source)
        return (*place, ours, limit, self.unit, verdict, Path(self.folder).name)


@dataclass(frozen=True)
class Reproduction:
    """Result of a reproduction: its folder, its rows, how each scenario ended, and the exit code."""

    directory: Path
    lines: tuple[FigureLine, ...]
    statuses: dict[str, str]
    exit_code: int


def reproduce(
    names: Sequence[str] = (),
    out: str | Path | None = None,
    *,
    plots: bool = True,
    progress: Progress | None = None,
) -> Reproduction:
    """Run named scenarios and compare their metrics with the published values.

    Each run has its folder under `out`; ``figures.json`` and ``figures.md`` hold the table, written again after each
    scenario. A scenario that fails has rows without our value; the others are still run.

    Parameters
    ----------
    names : sequence of str
        Default: all named scenarios.
    out : path, optional
        New, empty, or that of an earlier reproduction; default ``runs/reproduce-<time>``.
    plots : bool
        Whether runs write pictures.
    progress : callable, optional
        Called with (scenario, its number and what is running; share of all scenarios that is done).

    Raises
    ------
    InputError
        If a name is not known, or the folder is not acceptable; nothing is run then.
    """
    known = catalogue.names()
    for name in names:
        if name not in known:
            raise ScenarioError([Problem("NAME", name, f"no such scenario; {suggestion(name, known)}")])
    chosen = list(dict.fromkeys(names)) or known
    folder = Path("runs") / f"reproduce-{datetime.now():%Y%m%d-%H%M%S}" if out is None else Path(out)
    with own_folder(folder, "reproduction", "that of an earlier reproduction", beside=known) as own:
        for name in chosen:
            if (folder / name).exists():
                with own_folder(folder / name, "run", "that of an earlier run"):
                    pass  # what is in the way is said before anything is run
        return _all(chosen, own, plots, progress)


def _all(
    chosen: Sequence[str],
    folder: OwnedFolder,
    plots: bool,
    progress: Progress | None,
) -> Reproduction:
    """Run the scenarios one after the other, and write the table after each."""
    lines: list[FigureLine] = []
    statuses: dict[str, str] = {}
    code = 0
    for number, name in enumerate(chosen):
        told = progress and partial(_of_all, progress, f"[{number + 1}/{len(chosen)}] {name}", number, len(chosen))
        if told:
            told("begin", 0.0)
        ended = _one(name, folder.path / name, plots, told, lines, statuses)
        _write(folder, lines, statuses)
        code = max(code, ended)
        if ended == 130:
            break
    return Reproduction(folder.path, tuple(lines), statuses, code)


def _of_all(progress: Progress, name: str, before: int, count: int, what: str, share: float) -> None:
    progress(f"{name}: {what}", (before + share) / count)


def _one(
    name: str, folder: Path, plots: bool, progress: Progress | None, lines: list[FigureLine], statuses: dict[str, str]
) -> int:
    """Run one scenario, add its lines and its status, and return its exit code."""
    try:
        result = run(name, folder, plots=plots, progress=progress)
    except StorageError:
        raise  # the table could not be written either
    except TrundleError as error:
        meanings: Mapping[str, str] = {}
        asked = load_scenario(name).tables.acceptance
        entries, status, code = acceptance.judge(asked, {}), f"{Status.FAILED.label}: {error}", 1
    else:
        entries, status, code = result.summary["metrics"], result.summary["status"], result.exit_code
        meanings = result.meanings
    statuses[name] = status
    paper = _paper(name)
    for figure, entry in entries.items():
        if entry["limit"] is None and entry["published"] is None:
            continue  # neither published nor limited: it is in summary.json only
        limit = (entry["sense"], entry["limit"], entry["unit"], meanings.get(figure, ""), entry["holds"])
        lines.append(
            FigureLine(
                name, figure, entry["published"], entry["source"] or paper, entry["value"], *limit, status, str(folder)
            )
        )
    return code


def _paper(name: str) -> str:
    return next(entry.paper for entry in catalogue.entries() if entry.name == name)


def _write(folder: OwnedFolder, lines: Sequence[FigureLine], statuses: dict[str, str]) -> None:
    """Write the table as JSON, for programs, and as Markdown, for readers."""
    data = {"version": __version__, "statuses": statuses, "figures": [asdict(line) for line in lines]}
    write_bytes(folder.target("figures.json"), (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(line.cells() for line in lines)]
    text = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    ends = "\n".join(f"- {name}: {status}" for name, status in statuses.items())
    write_bytes(folder.target("figures.md"), f"# Published figures and ours\n\n{text}\n\n{ends}\n".encode())
