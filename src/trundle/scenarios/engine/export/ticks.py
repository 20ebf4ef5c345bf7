"""A controller's tick as C: functions around quadratic programs, and ticks of Python's controller to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control.tick import ControlTick, ProgramStage, RecordedTicks, Ticking
from trundle.models import RollingPair, RollingTree, Start
from trundle.records import Policy, tell_contacts
from trundle.simulate import simulate

TICKS = 200
"""Recorded ticks, at most."""
_STEP, _SLOW = 1e-3, 0.02
"""Period of the loop, s, and that of a tick above which the loop has the tick's own."""
_SOLVER = "dense_qp.h"
_END = ("carry", "z", "memory", "&solved", "multipliers")
_ABOUT = """, for the measured state x: of contact coordinates in it only a guess is needed, where
 * those of the last tick have been lost"""


class _Recorded:
    """A policy that keeps what it was asked and what it answered."""

    def __init__(self, policy: Policy, told: Callable[[float, FloatArray], tuple[FloatArray, ...]]) -> None:
        self._policy, self._told = policy, told
        self.period = policy.period
        self.rows: list[tuple[FloatArray, ...]] = []

    def reset(self) -> None:
        self._policy.reset()
        self.rows.clear()

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        tell_contacts(self._policy, time, touching)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        u = self._policy(time, state)
        given = (np.array(value) for value in self._told(time, state))
        self.rows.append((*given, np.array(u)))
        return u


def record(model: RollingPair | RollingTree, start: Start, policy: Policy) -> tuple[ControlTick, RecordedTicks] | str:
    """Return a controller's tick with the first `TICKS` of a simulation from the start; or why there is no tick."""
    if not isinstance(policy, Ticking):
        return f"{type(policy).__name__} is no schedule of gains and has no tick"
    tick = policy.control_tick()
    if isinstance(tick, str):
        return tick
    kept = _Recorded(policy, policy.tick_arguments)
    simulate(model, start, TICKS * tick.period, policy=kept)
    *arguments, u = (np.array(column)[:TICKS] for column in zip(*kept.rows, strict=True))
    return tick, RecordedTicks(dict(zip(tick.arguments, arguments, strict=True)), u)


def functions(name: str, tick: ControlTick) -> dict[str, ca.Function]:
    """Return CasADi's functions of a tick by their names in C."""
    found = {"begin": tick.begin, "end": tick.end, "memory": tick.reset}
    for number, stage in enumerate(_stages(tick)):
        found |= {f"pose_{number}": stage.pose, f"take_{number}": stage.take}
    return {f"{name}_{key}": function for key, function in found.items()}


def sources() -> dict[str, str]:
    """Return the solver's source by the name of its file."""
    return {_SOLVER: resources.files("trundle.numerics.qp").joinpath(_SOLVER).read_text("utf-8")}


def values(name: str, tick: ControlTick, count: int, call: Callable[..., str]) -> dict[str, str | int]:
    """Return what the templates say of a tick; `call` writes the statements that call a function."""
    given, stages = list(tick.arguments), list(_stages(tick))
    sizes = [(stage.pose.size1_out(0), stage.pose.size2_out(2)) for stage in stages]
    parts = "".join(_stage(name, number, stage, call) for number, stage in enumerate(stages))
    number_of = {id(stage): number for number, stage in enumerate(stages)}
    attempts = [[number_of[id(stage)] for stage in attempt] for attempt in tick.attempts]
    counts = {key: f"{name.upper()}_{'NX' if key == 'x' else f'{key}_COUNT'.upper()}" for key in given}
    measured = "x" in given
    step = _STEP if tick.period <= _SLOW else tick.period
    return {
        "tick_period": repr(tick.period),
        "tick_reset": f"const double x[{counts['x']}]" if measured else "void",
        "tick_seed": "x" if measured else "",
        "tick_first": f"{name}_known_x[0]" if measured else "",
        "tick_about_reset": "; contact coordinates are looked for from those of x on" if measured else "",
        "tick_about_x": _ABOUT if measured else "",
        "tick_remember": "const double *x" if measured else "void",
        "tick_arguments": "".join(f"const double {key}[{limit}], " for key, limit in counts.items()),
        "tick_pointers": "".join(f"const double *{key}, " for key in given),
        "tick_rows": "".join(f"{name}_known_{key}[i], " for key in given),
        "ticks": count,
        "loop_count": round(1.0 / step),
        "loop_step": repr(step),
        "loop_rate": f"{1e-3 / step:g} kHz" if step < 1e-2 else f"{1.0 / step:g} Hz",
        "tick_names": "".join(f"{key}, " for key in given),
        "tick_finite": " && ".join(f"are_numbers({key}, {counts[key]})" for key in given),
        "tick_memory": max(tick.begin.size1_in("memory"), 1),
        "tick_carry": tick.begin.size1_out(0),
        "tick_z": tick.begin.size1_out(1),
        "tick_n": max(n for n, _ in sizes),
        "tick_m": max(max(m for _, m in sizes), 1),
        "tick_parts": parts,
        "tick_attempts": ", ".join(f"{{{', '.join(map(str, [*attempt, -1]))}}}" for attempt in attempts),
        "tick_count": len(attempts),
        "tick_depth": 1 + max(map(len, attempts)),
        "tick_switch": "".join(f"    case {i}: return stage_{i}();\n" for i in range(len(stages))),
        "call_begin": call(f"{name}_begin", tick.begin, (*given, "memory"), ("carry", "z_begin", "good")),
        "call_end": call(f"{name}_end", tick.end, _END[: tick.end.n_in()], ("u", "after")),
        "call_memory": call(f"{name}_memory", tick.reset, ("x",) if measured else (), ("memory",)),
    }


def _stages(tick: ControlTick) -> Iterator[ProgramStage]:
    """Yield the stages of all attempts, each once."""
    seen: list[ProgramStage] = []
    for stage in (stage for attempt in tick.attempts for stage in attempt):
        if not any(stage is one for one in seen):
            seen.append(stage)
            yield stage


def _stage(name: str, number: int, stage: ProgramStage, call: Callable[..., str]) -> str:
    n, m = stage.pose.size1_out(0), stage.pose.size2_out(2)
    results = ("H", "g", "A", "low", "high")
    pose = call(f"{name}_pose_{number}", stage.pose, ("carry", "z"), results)
    take = call(f"{name}_take_{number}", stage.take, ("carry", "z", "y"), ("z_after",))
    return (
        f"static int pose_{number}(void)\n{{\n{pose}}}\n\nstatic int take_{number}(void)\n{{\n{take}}}\n\n"
        f"static int stage_{number}(void)\n{{\n"
        f"    if (pose_{number}()) return QP_NOT_FINITE;\n"
        f"    const int status = qp_solve({n}, {m}, H, g, A, low, high, y, multipliers, doubles, ints);\n"
        f"    if (status == QP_SOLVED && take_{number}()) return QP_NOT_FINITE;\n"
        f"    return status;\n}}\n\n"
    )
