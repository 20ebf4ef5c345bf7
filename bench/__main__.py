"""``python -m bench``: other simulators side by side with trundle, and microseconds a call.

Writes results.json, error_against_time.png and growth.png to the results folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import micro, qp, report
from bench.machine import description
from bench.measure import Point
from bench.reference import BallCase, EllipseCase, ellipse_reference, start_growth
from bench.worker import CASES, MODULES

PARTS = (*MODULES, *CASES, "micro", "qp")
SECONDS = 110.0  # of one engine on one case; what is left then is reported as skipped
QUICK_SECONDS = 12.0


def arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two time steps of the best settings, at most 2 minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], help="engines, cases, micro, qp (default: all)")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="results folder")
    return parser.parse_args()


def run_engine(engine: str, case: str, seconds: float, quick: bool) -> list[Point]:
    """Run one engine on one case in a process of its own; what goes wrong becomes a point with a note."""
    command = [sys.executable, "-m", "bench.worker", engine, case, f"{seconds:g}", *(["quick"] if quick else [])]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=2 * seconds + 60, check=False, env=os.environ | single
        )
        out, err, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        raw = late.stdout or b""
        out = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
        err, code = f"stopped after {late.timeout:g} s", 1
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    points = [Point(**line) for line in lines if "engine" in line]
    if code != 0:
        last = (err.strip().splitlines() or [f"exit code {code}"])[-1][:160]
        what = "stopped" if lines else "not installable or not usable here"
        unit = "%" if case == "ball" else "m"
        points.append(Point(engine, case, "", "", None, unit, None, None, None, f"{what}: {last}"))
    return points


def captions() -> dict[str, str]:
    """Return what is said under each table: the exact answer and why it is a fair one."""
    ball, facts = BallCase(), ellipse_reference(EllipseCase()).facts
    return {
        "ball": f"exact: circle of radius {ball.circle_radius:g} m about (0.1, 0) at {ball.circle_rate:g} rad/s",
        "ellipse": (
            f"exact: arc-length integration, known to {facts['tolerance_change_m']:.0e} m, energy to "
            f"{facts['energy_drift']:.0e}; path {facts['path_m']:.2f} m, normal force "
            f"{facts['normal_force_min_N']:.1f} to {facts['normal_force_max_N']:.1f} N, friction used "
            f"{facts['friction_use_max']:.2f}, no second contact; "
            f"an error of the start grows {start_growth(EllipseCase()):.0f} times"
        ),
    }


def main() -> int:
    """Run what was asked for, print tables, write files; 0 when every row ran, 1 with a line for each that did not."""
    asked = arguments()
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = set(asked.only)
    engines = [name for name in MODULES if name in chosen] or (
        [] if chosen and chosen <= {"micro", "qp"} else list(MODULES)
    )
    cases = [name for name in CASES if name in chosen] or ([] if chosen and chosen <= {"micro", "qp"} else list(CASES))
    asked.out.mkdir(parents=True, exist_ok=True)
    machine = description()
    console.print(f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}", highlight=False)
    content: dict[str, Any] = {
        "machine": machine,
        "quick": asked.quick,
        "reference": ellipse_reference(EllipseCase()).facts,
    }
    begin, points = time.perf_counter(), []
    for case in cases:
        for engine in engines:
            console.print(f"[dim]{case}: {engine} ...[/dim]", highlight=False)
            points += run_engine(engine, case, QUICK_SECONDS if asked.quick else SECONDS, asked.quick)
        report.print_case(console, case, [p for p in points if p.case == case], captions()[case])
    content["cases"] = {"ball": BallCase().__dict__, "ellipse": EllipseCase().__dict__}
    content["points"] = [point.as_dict() for point in points]
    if points:
        report.plot_cases(asked.out / "error_against_time.png", points, machine)
    if not chosen or "micro" in chosen:
        tables = micro.tables(asked.quick)
        for title, rows in tables.items():
            report.print_micro(console, title, rows)
        content["microseconds"] = {title: [row.as_dict() for row in rows] for title, rows in tables.items()}
        report.plot_micro(asked.out / "growth.png", tables)
    if not chosen or "qp" in chosen:
        programs = qp.tables(100 if asked.quick else 1000)
        for title, rows in programs.items():
            qp.print_table(console, title, rows)
        content["quadratic_programs"] = {title: [row.as_dict() for row in rows] for title, rows in programs.items()}
    content["wall_time"] = time.perf_counter() - begin
    report.save_json(asked.out / "results.json", content)
    console.print(f"{content['wall_time']:.0f} s; tables and pictures in {asked.out}", highlight=False)
    missing = [point for point in points if point.error is None]
    for point in missing:
        row = " ".join(part for part in (point.engine, point.setting, point.step) if part)
        console.print(f"did not run: {point.case}, {row}: {point.note}", highlight=False, markup=False, soft_wrap=True)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
