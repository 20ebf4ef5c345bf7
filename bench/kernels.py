"""``python -m bench.kernels [SCENARIO ...] [--small]``: whether named scenarios end alike on any processor.

OpenBLAS sums in an order of the processor's own, so that the last digits of every product of matrices differ from
machine to machine. `OPENBLAS_CORETYPE` chooses another processor's kernel: each scenario runs under each, in a process
of its own, and statuses, feasibility, counts and whether the limits hold are compared. ``--small`` runs what
`make test` runs of a scenario (`tests.named.SMALLER`). The exit code is 1 if a scenario differs.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from tests.named import SMALLER
from trundle.scenarios import catalogue
from trundle.scenarios.engine.summary import Summary

KERNELS = ("SkylakeX", "Haswell", "Zen", "Prescott")
LONGEST = 3600.0  # s that a run may take
_COUNTED = ("", "1")
"""Units of counts: a length of two metres is a whole number by chance."""
_CLOCK = ("ticks_missed", "real_time_factor")
"""How metrics begin that tell how busy a machine is, not what a robot does."""
_EFFORT = ("iterations",)
"""How metrics begin that tell how long a solver's way was: round-off changes ways to one and the same answer."""
_SAME = 1e-6
"""Difference of counts, and of shares that are whole somewhere, that is none."""
_TOLD = 4
"""Differences of a scenario that are printed."""
_RUN = "import sys; from trundle.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class Ending:
    """How a run ended: its exit code, what must be equal on all processors, and the numbers that need not be.

    Attributes
    ----------
    decided : dict
        Statuses, feasibility, and whether each limit holds, by name; also which metrics there are none of.
    counted : dict
        Metrics without a unit: counts, where they are whole numbers, and shares.
    measured : dict
        Other metrics that have a limit, over it.
    seconds : float
    """

    decided: Mapping[str, object]
    counted: Mapping[str, float]
    measured: Mapping[str, float]
    seconds: float


def core_name() -> str:
    """Return the processor whose kernel NumPy's OpenBLAS runs in this process; empty if that cannot be asked."""
    library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
        asked = getattr(library, name, None)
        if asked is not None:
            asked.restype = ctypes.c_char_p
            # A kernel of instructions that this processor lacks ends the process here, not in a scenario.
            np.linalg.eigvals(np.ones((8, 8)) @ np.eye(8))
            return str(asked().decode())
    return ""


def available(kernels: Sequence[str] = KERNELS) -> dict[str, str]:
    """Return the kernels that run here with the names OpenBLAS has for them, each of its own once."""
    found: dict[str, str] = {}
    for kernel in kernels:
        command = [sys.executable, "-c", "from bench.kernels import core_name; print(core_name())"]
        asked = subprocess.run(command, env=_environment(kernel), capture_output=True, text=True, check=False)
        name = asked.stdout.strip()
        if asked.returncode == 0 and name and name not in found.values():
            found[kernel] = name
    return found


def ending(summary: Summary, code: int, seconds: float) -> Ending:
    """Return what a run's `summary.json` says."""
    decided: dict[str, object] = {"exit code": code}
    counted: dict[str, float] = {}
    measured: dict[str, float] = {}
    decided["status"], decided["feasible"] = summary["status"], summary["feasible"]
    for name, part in summary["parts"].items():
        decided[f"{name}: status"], decided[f"{name}: feasible"] = part["status"], part["feasible"]
    for name, metric in summary["metrics"].items():
        if name.startswith(_CLOCK):
            continue
        value = metric["value"]
        if metric["holds"] is not None:
            decided[f"{name} holds"] = metric["holds"]
        decided[f"{name} is known"] = value is not None
        if value is not None and metric["unit"] in _COUNTED:
            counted[name] = value
        elif value is not None and metric["limit"]:
            measured[name] = value / abs(metric["limit"])
    return Ending(decided, counted, measured, seconds)


def run(scenario: str, kernel: str, small: bool) -> Ending:
    """Run a scenario under a kernel, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _RUN, "run", scenario, "--quiet", "--no-plots", "--json", "--jobs", "1"]
        for given in SMALLER.get(scenario, ()) if small else ():
            command += ["--set", given]
        command += ["--out", str(Path(folder) / "run")]
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                command, env=_environment(kernel), capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return Ending({"exit code": f"none in {LONGEST:g} s"}, {}, {}, LONGEST)
        seconds = time.perf_counter() - begin
        if done.returncode not in (0, 1):
            return Ending({"exit code": done.returncode, "error": done.stderr.strip()[-300:]}, {}, {}, seconds)
        return ending(json.loads(done.stdout), done.returncode, seconds)


def differences(endings: Mapping[str, Ending]) -> list[str]:
    """Return what kernels decided or counted differently, one line each: its name and every kernel's value."""
    lines = []
    for name in {name: None for found in endings.values() for name in found.decided}:
        values = {kernel: found.decided.get(name) for kernel, found in endings.items()}
        if len({json.dumps(value) for value in values.values()}) > 1:
            lines.append(_told(name, values))
    for name in next(iter(endings.values())).counted:
        if not name.startswith(_EFFORT):
            lines += _unequal(name, endings)
    return lines


def efforts(endings: Mapping[str, Ending]) -> list[str]:
    """Return the solvers' iterations that differ, one line each."""
    return [
        line
        for name in next(iter(endings.values())).counted
        if name.startswith(_EFFORT)
        for line in _unequal(name, endings)
    ]


def _unequal(name: str, endings: Mapping[str, Ending]) -> list[str]:
    """Return the line of a count that is not the same everywhere, or none; shares may differ as other numbers do."""
    values = {kernel: found.counted.get(name, math.nan) for kernel, found in endings.items()}
    whole = any(value.is_integer() for value in values.values())
    apart = max(values.values()) - min(values.values())
    return [_told(name, values)] if whole and apart > _SAME else []


def _told(name: str, values: Mapping[str, object]) -> str:
    return f"{name}: " + ", ".join(f"{kernel} {value}" for kernel, value in values.items())


def spread(endings: Mapping[str, Ending]) -> tuple[float, str]:
    """Return the largest difference of a number between kernels, as a share of its limit, and which number it is."""
    first, *others = endings.values()
    found = [
        (abs(value - other.measured.get(name, math.inf)), name)
        for other in others
        for name, value in first.measured.items()
    ]
    return max(found, default=(0.0, "no number"))


def _environment(kernel: str) -> dict[str, str]:
    """Return this process's environment with another kernel, and one thread: their number sums in another order too."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": kernel}
    return {**os.environ, **one}


def print_kernels(console: Console, kernels: Mapping[str, str]) -> None:
    """Print which kernels are compared, and which are not."""
    here = ", ".join(kernel if kernel == name else f"{kernel} ({name})" for kernel, name in kernels.items())
    missing = ", ".join(kernel for kernel in KERNELS if kernel not in kernels)
    console.print(f"kernels: {here}")
    if missing:
        console.print(f"the same as one of these, or not of this processor: {missing}")


def print_scenario(console: Console, scenario: str, endings: Mapping[str, Ending]) -> bool:
    """Print a line and what differs; return whether anything does."""
    lines = differences(endings)
    first, (share, which) = next(iter(endings.values())), spread(endings)
    seconds = sum(found.seconds for found in endings.values())
    verdict, status, compared = (
        "differs" if lines else "equal",
        first.decided.get("status", "error"),
        len(first.decided),
    )
    console.print(
        f"{scenario:22}{verdict:9}{status!s:16}{compared + len(first.counted):3} compared; "
        f"of its limit {which} differs by {share:.1e} ({seconds:.0f} s)"
    )
    for line in lines[:_TOLD]:
        console.print(f"    {line}")
    if len(lines) > _TOLD:
        console.print(f"    and {len(lines) - _TOLD} more")
    for line in efforts(endings):
        console.print(f"    the same by another way: {line}")
    return bool(lines)


def compare(console: Console, scenarios: Sequence[str], small: bool) -> int:
    """Run scenarios under all kernels, print each as it ends, and return how many differ."""
    kernels = available()
    print_kernels(console, kernels)
    differ = 0
    for scenario in scenarios:
        differ += print_scenario(console, scenario, {kernel: run(scenario, kernel, small) for kernel in kernels})
    console.print(f"{len(scenarios) - differ} of {len(scenarios)} equal under all kernels")
    return differ


def main() -> int:
    """Compare the scenarios named, or all; 1 if one differs."""
    words = sys.argv[1:]
    small = "--small" in words
    known = catalogue.names()
    scenarios = [word for word in words if word != "--small"] or known
    unknown = sorted(set(scenarios) - set(known))
    if unknown:
        print(f"{', '.join(unknown)}: must be among {', '.join(known)}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False, soft_wrap=True)
    return int(compare(console, scenarios, small) > 0)


if __name__ == "__main__":
    sys.exit(main())
