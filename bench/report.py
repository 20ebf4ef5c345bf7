"""Tables on the screen, results.json and the pictures of a benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.measure import Point
from bench.micro import Row

TITLES = {
    "ball": "Ball on a spinning plate, 10 s: largest radius error of the contact path",
    "ellipse": "Ellipse rolling on a sinusoid, 5 s: largest error of the centre's position",
}
COLOURS = {"trundle": "tab:red", "MuJoCo": "tab:blue", "PyBullet": "tab:green", "Drake": "tab:purple"}
MARKERS = "osD^vP*X"


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}g}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def print_case(console: Console, case: str, points: Iterable[Point], caption: str = "") -> None:
    """Print the table of one case."""
    second = "at equal times (m)" if case == "ball" else "angle (rad)"
    table = Table(title=TITLES[case], title_justify="left", caption=caption or None, caption_justify="left")
    for head, right in (("engine", False), ("setting", False), ("step or tolerance", True), ("steps", True)):
        table.add_column(head, justify="right" if right else "left")
    for head in ("error (%)" if case == "ball" else "error (m)", second, "time to step"):
        table.add_column(head, justify="right")
    table.add_column("note")
    previous = None
    for point in points:
        if previous not in (None, (point.engine, point.setting)):
            table.add_section()
        first = previous != (point.engine, point.setting)
        previous = (point.engine, point.setting)
        table.add_row(
            point.engine if first else "",
            point.setting if first else "",
            point.step,
            "-" if point.steps is None else str(point.steps),
            _number(point.error),
            _number(point.second),
            _time(point.wall),
            point.note,
        )
    console.print(table)


def print_micro(console: Console, title: str, rows: Iterable[Row]) -> None:
    """Print microseconds per right-hand side and per Jacobian."""
    table = Table(title=f"Microseconds a call: {title}", title_justify="left")
    table.add_column("model")
    for head in ("states", "instructions", "rate, VM", "rate, C", "Jacobian instr.", "Jacobian, VM", "Jacobian, C"):
        table.add_column(head, justify="right")
    table.add_column("note")
    for row in rows:
        table.add_row(
            row.label,
            str(row.states),
            str(row.instructions),
            _number(row.rate_vm),
            _number(row.rate_c),
            str(row.jacobian_instructions),
            _number(row.jacobian_vm),
            _number(row.jacobian_c),
            row.note,
        )
    console.print(table)


def save_json(path: Path, content: dict[str, Any]) -> None:
    """Write the results."""
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _curves(ax: Any, points: list[Point]) -> None:
    """Draw one curve an engine and setting."""
    seen: dict[str, int] = {}
    for (engine, setting), group in groupby(points, key=lambda p: (p.engine, p.setting)):
        pairs = [(p.wall, p.error) for p in group if p.error is not None and p.wall is not None and p.error > 0]
        if not pairs:
            continue
        index = seen.get(engine, 0)
        seen[engine] = index + 1
        walls, errors = zip(*pairs, strict=True)
        ax.loglog(
            walls,
            errors,
            color=COLOURS.get(engine, "black"),
            marker=MARKERS[index % len(MARKERS)],
            linestyle=("-", "--", ":", "-.")[index % 4],
            markersize=4,
            linewidth=1,
            label=f"{engine}: {setting}",
        )


def plot_cases(path: Path, points: list[Point], machine: dict[str, Any]) -> None:
    """Write error against wall time, log-log, one panel a case and one curve an engine and setting."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cases = [case for case in TITLES if any(p.case == case and p.error is not None for p in points)]
    if not cases:
        return
    figure, axes = plt.subplots(1, len(cases), figsize=(7.5 * len(cases), 8.0), squeeze=False, layout="constrained")
    for ax, case in zip(axes[0], cases, strict=True):
        _curves(ax, [p for p in points if p.case == case])
        ax.set_title(TITLES[case], fontsize=10)
        ax.set_xlabel("time to step, one core (s)")
        ax.set_ylabel("error (%)" if case == "ball" else "error (m)")
        ax.grid(True, which="major", alpha=0.3)
        ax.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False)
    figure.suptitle(f"{machine['processor']}, Python {machine['python']}", fontsize=8, color="gray")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def plot_micro(path: Path, tables: dict[str, list[Row]]) -> None:
    """Write how the time of a call grows with the number of states, one panel for rate and Jacobian."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    growing = {title: rows for title, rows in tables.items() if title != "pairs" and len(rows) > 1}
    if not growing:
        return
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for ax, name in zip(axes, ("rate", "jacobian"), strict=True):
        for index, (title, rows) in enumerate(growing.items()):
            for kind, line in (("c", "-"), ("vm", "--")):
                values = [getattr(row, f"{name}_{kind}") for row in rows]
                if any(value is None for value in values):
                    continue
                label = f"{title}, {'compiled' if kind == 'c' else 'VM'}"
                states = [row.states for row in rows]
                ax.loglog(states, values, line, marker=MARKERS[index], color=f"C{index}", label=label)
        ax.set_xlabel("states")
        ax.set_ylabel("microseconds a call")
        ax.set_title("right-hand side" if name == "rate" else "Jacobian with respect to state and input")
        ax.grid(True, which="both", alpha=0.2)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)
