"""Output at the end of a run: metrics beside their limits, and a card with status, files and the next command."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.cli.terminal import columns, say
from trundle.errors import printable

if TYPE_CHECKING:
    from rich.text import Text

    from trundle.scenarios import Result
    from trundle.scenarios.engine.summary import MetricEntry

_HEAD = ("metric", "value", "limit", "unit", "")
_VERDICTS = {True: "holds", False: "violated", None: ""}
_FEW = 4  # parts that are named one by one
_NO_LINKS = ("dumb", "linux")  # values of TERM whose terminals know no hyperlinks


def tell(result: Result, seconds: float, verbose: bool = False) -> None:
    """Print how the run ended, its metrics beside their limits, and where the files are.

    `seconds` is the time that all of it took. In a terminal limits come first, other metrics only if `verbose`; where
    programs may read it, plain columns of all.
    """
    if sys.stdout.isatty():
        _show(result, seconds, verbose)
        return
    summary = result.summary
    if summary["metrics"]:
        columns(_HEAD, [_row(name, entry) for name, entry in summary["metrics"].items()])
    lines = [f"{summary['scenario']}: {summary['status']}{_feasible(summary['feasible'])}"]
    for name, part in summary["parts"].items():
        lines.append(f"  part {name}: {part['status']}{_feasible(part['feasible'])}")
    lines += summary["advice"].splitlines()
    lines += [*_failures(summary["metrics"], result.hints), f"files: {result.directory}"]
    if result.interrupted:
        lines.append(f"pictures: {_command('report', result.directory)}")
    say(*lines)


def _row(name: str, entry: MetricEntry) -> tuple[str, ...]:
    value = "missing" if entry["value"] is None else f"{entry['value']:.3g}"
    limit = "" if entry["limit"] is None else f"{entry['sense']} {entry['limit']:g}"
    return printable(name), value, limit, printable(entry["unit"]), _VERDICTS[entry["holds"]]


def _feasible(yes: bool) -> str:
    return "" if yes else ", not feasible"


def _failures(metrics: Mapping[str, MetricEntry], hints: Mapping[str, str]) -> list[str]:
    """Return one line a kind of failure, naming the metrics: outside their limit, not computed, misspelt."""
    failed = {name: entry["value"] for name, entry in metrics.items() if entry["holds"] is False}
    outside = ", ".join(name for name, value in failed.items() if value is not None)
    missing = ", ".join(name for name, value in failed.items() if value is None and name not in hints)
    hint = "the run is too short or has too few samples for it: log.txt may say more; see simulation.output_step"
    told = {f"outside its limit: {outside}": outside, f"not computed: {missing} ({hint})": missing}
    lines = [line for line, names in told.items() if names]
    return lines + [f"acceptance.{name}: no metric of this run; {meant}" for name, meant in hints.items()]


def _show(result: Result, seconds: float, verbose: bool) -> None:
    """Print the table and the card."""
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    metrics, console = result.summary["metrics"], Console()
    limited = {name: entry for name, entry in metrics.items() if entry["limit"] is not None}
    shown = limited | metrics if verbose else limited
    table = Table(*_HEAD, box=None, pad_edge=False)
    for name, entry in shown.items():
        *cells, verdict = _row(name, entry)
        table.add_row(*map(Text, cells), Text(verdict, style="bold red" if verdict == "violated" else "green"))
    if shown:
        console.print(table)
    if left := len(metrics) - len(shown):
        console.print(f"metrics without a limit: {left}, shown by --verbose", style="dim", highlight=False)
    grid = Table.grid(padding=(0, 2))
    for name, text in _rows(result, seconds, limited, linked=os.environ.get("TERM") not in _NO_LINKS):
        grid.add_row(Text(name, style="dim"), text)
    colour = "green" if result.exit_code == 0 else "red"
    title = Text(f" {printable(result.summary['scenario'])} ", style="bold")
    console.print(Panel(grid, title=title, title_align="left", border_style=colour, expand=False))


def _rows(result: Result, seconds: float, limited: Mapping[str, MetricEntry], linked: bool) -> list[tuple[str, Text]]:
    """Return the names and texts of the card's rows."""
    from rich.text import Text

    summary, folder = result.summary, _near(result.directory)
    rows = [("ended", _describe_ending(result))]
    broken = {name: entry for name, entry in limited.items() if entry["holds"] is False}
    if limited:
        held = f"all {len(limited)} hold" if not broken else f"{len(broken)} of {len(limited)} violated"
        rows.append(("limits", Text(held)))
    for name, entry in broken.items():
        metric, value, limit, unit, _ = _row(name, entry)
        value = "not computed" if entry["value"] is None else f"{value} {unit}".rstrip()
        meant = f" ({result.hints[name]})" if name in result.hints else ""
        rows.append(("", Text(f"{metric}: {value}, limit {limit}{printable(meant)}", style="red")))
    if any(entry["value"] is None for name, entry in broken.items() if name not in result.hints):
        rows.append(("", Text("not computed: the run is too short or has too few samples, see log.txt")))
    yes, no = "no contact force pulled or left its friction cone", "a contact force pulled or left its friction cone"
    rows.append(("feasible", Text(f"yes: {yes}" if summary["feasible"] else f"no: {no}")))
    if summary["parts"]:
        rows.append(("parts", Text(_parts({name: part["status"] for name, part in summary["parts"].items()}))))
    times = summary["wall_time"] | {"others": seconds - sum(summary["wall_time"].values())}
    each = ", ".join(f"{phase} {spent:.1f}" for phase, spent in times.items() if spent >= 0.05)
    rows.append(("time", Text(f"{seconds:.1f} s" + (f": {each}" if each else ""))))
    plots, page = list((result.directory / "plots").glob("*.*")), (result.directory / "viewer.html").is_file()
    for name, path, note in (
        ("pictures", folder / "plots", f" ({len(plots)})" if plots else None),
        ("page", folder / "viewer.html", "" if page else None),
        ("all files", folder, ""),
    ):
        if note is not None:
            link = f"link {path.absolute().as_uri()}" if linked else ""
            rows.append((name, Text.assemble((printable(str(path)), link), note)))
    if page or result.interrupted:
        rows.append(("next", Text(_command("report" if result.interrupted else "view", folder), style="bold")))
    return rows


def _describe_ending(result: Result) -> Text:
    """Return how the run ended, in words."""
    from rich.text import Text

    status, advice = result.summary["status"], result.summary["advice"]
    words = {"success": "the run reached its end", "limit-violated": "the run reached its end, but outside a limit"}
    label, told = status.replace("-", " "), words.get(status, advice)
    said = told if told.startswith(label) else f"{label}: {told}"
    return Text(printable(said, keep="\n"), style="bold green" if result.exit_code == 0 else "bold red")


def _parts(statuses: Mapping[str, str]) -> str:
    if len(statuses) <= _FEW:
        return ", ".join(f"{printable(name)}: {status}" for name, status in statuses.items())
    counts = Counter(statuses.values())
    return f"{len(statuses)}: " + ", ".join(f"{count} {status}" for status, count in counts.most_common())


def _command(verb: str, folder: Path) -> str:
    return f"trundle {verb} {shlex.quote(printable(str(folder)))}"


def _near(path: Path) -> Path:
    """Return a path from the current folder, if it lies in it."""
    try:
        return path.absolute().relative_to(Path.cwd())
    except ValueError:
        return path
