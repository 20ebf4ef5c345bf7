"""The page `docs/classics.md`, from what the command found."""

from __future__ import annotations

import math
from typing import Any

from bench.classics import named

NAMES = {"trundle": "trundle", "mujoco": "MuJoCo", "pybullet": "PyBullet", "drake": "Drake"}

HEAD = """# Classics

Problems of contact whose answers are known, and how many digits of them an engine reaches. The page is written by
`make classics ARGS="--page docs/classics.md"`; no number on it comes from anywhere else. Exact values are published or closed forms, or equations
of motion that share no code with trundle, integrated by scipy's DOP853 at 1e-13.

A cell holds the value and, in brackets, its digits: -log10 of the relative error, or of the error over the problem's own scale where the exact value
is zero or a place. Seconds are those of stepping alone; building and compiling are left out for every engine. A dash is a number an engine was not asked
for. The other engines run as they come, and with the hardest contact that is useful and a finer step; masses, shapes, friction and start are the same.
Drake has 1e5 N/m of contact in the first case, and two of its solvers in the second. A step is the next that divides the time between samples. Wheels and discs are ellipsoids a thousand times thinner than wide in MuJoCo and Drake, flat cylinders with round rims in PyBullet,
where an ellipsoid is a hull of 4,000 points.
"""


def number(value: float) -> str:
    """Return a number as text, seven digits."""
    return "none" if math.isnan(value) else f"{value:.7g}"


def cell(row: dict[str, Any], name: str) -> str:
    """Return value and digits of a quantity, or a dash."""
    value = row.get("values", {}).get(name)
    if value is None:
        return "-"
    digits = row["digits"][name]
    return f"{number(value)} ({'none' if math.isnan(digits) else f'{max(digits, 0.0):.1f}'})"


def seconds(row: dict[str, Any]) -> str:
    """Return the time of a row as text."""
    return f"{row['seconds']:.2g}" if "seconds" in row else "-"


def _part(result: dict[str, Any]) -> list[str]:
    quantities, chosen = result["quantities"], named(result["name"])
    lines = [f"## {chosen.title}", "", chosen.text, "", f"Source: {chosen.source}.", ""]
    lines.append("| engine | setting | " + " | ".join(q["name"] for q in quantities) + " | seconds |")
    lines.append("|" + "---|" * (len(quantities) + 3))
    exact = (f"{number(q['exact'])} {q['unit']}".strip() for q in quantities)
    lines.append("| **exact** | | " + " | ".join(exact) + " | |")
    notes = []
    for row in result["rows"]:
        name, setting = NAMES[row["engine"]], row["setting"]
        cells = [cell(row, q["name"]) for q in quantities]
        lines.append(f"| {name} | {setting} | {' | '.join(cells)} | {seconds(row)} |")
        if row.get("note"):
            label = f"{name}, {setting}" if setting else name
            notes.append(f"- {label}: {row['note']}")
    if chosen.peers_note:
        notes.append(f"- Other engines: {chosen.peers_note}")
    return [*lines, "", *notes, *([""] if notes else [])]


def page(content: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    machine = content["machine"]
    versions = ", ".join(f"{NAMES[k]} {v}" for k, v in machine["versions"].items() if k in NAMES)
    lines = [
        HEAD,
        f"Measured on {machine['processor']}, {machine['cores']} cores, load {machine['load_average'][0]:g}: {versions}.",
        "",
    ]
    for result in content["classics"]:
        lines += _part(result)
    return "\n".join(lines).rstrip() + "\n"
