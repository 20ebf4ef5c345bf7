"""Stages of discrete-time optimal control problems as C: dynamics, costs and their derivatives, with samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.scenarios.engine.building import RecordedStages

_SAMPLES = 4  # stages whose numbers are written for a comparison
_RESULTS = {
    "step": ("next", "cost"),
    "slope": ("jacobian", "gradient", "hessian"),
    "end": ("cost",),
    "end_slope": ("gradient", "hessian"),
}
"""What each function of `ControlProblem.functions` gives."""
_TEXT = {
    "step": "the next state and the cost of a stage",
    "slope": "d next / d(x, u) by rows; gradient and Hessian of the cost by (x, u)",
    "end": "the cost of the end",
    "end_slope": "its gradient and Hessian by x",
}
_TYPE = {True: "const double *", False: "double *"}


def functions(name: str, stages: Mapping[str, RecordedStages]) -> dict[str, ca.Function]:
    """Return CasADi's functions by their names in C."""
    named: dict[str, ca.Function] = {}
    for level, recorded in stages.items():
        named |= {f"{name}_{level}_{key}_function": one for key, one in recorded.problem.functions.items()}
    return named


def values(
    name: str,
    stages: Mapping[str, RecordedStages],
    call: Callable[..., str],
    array: Callable[[str, FloatArray], str],
    entries: Callable[..., str],
) -> dict[str, str]:
    """Return what the templates say of stages; `call`, `array` and `entries` write C."""
    declared, defined, known, checks = [], [], [], []
    for level, one in stages.items():
        problem, title = one.problem, f"{name}_{level}".upper()
        sizes = f"{title}_STAGES = {problem.stages}, {title}_NP = {problem.n_p}"
        declared.append(
            f"/* {level}: {problem.stages} stages. */\nenum {{ {sizes} }};\n\n/* Entries of its state x. */\n"
            f"{entries(name, f'{level}_X', one.states)}\n/* Entries of its input u. */\n"
            f"{entries(name, f'{level}_U', one.inputs)}\n"
        )
        for key, function in problem.functions.items():
            given, results = function_arguments(key), _RESULTS[key]
            arguments = [f"{_TYPE[True]}{part}" for part in given] + [f"{_TYPE[False]}{part}" for part in results]
            head = f"int {name}_{level}_{key}({', '.join(arguments)})"
            declared.append(f"/* Of {', '.join(given)}: {_TEXT[key]}; 0 for success. */\n{head};\n\n")
            body = call(f"{name}_{level}_{key}_function", function, given, results)
            defined.append(f"{head}\n{{\n{body}}}\n\n")
            rows = list(_samples(one, key, function))
            label = f"{level}_{key}"
            for part, column in zip((*given, *results), zip(*rows, strict=True), strict=True):
                known.append(array(f"{label}_{part}", np.array(column)))
            checks.append(_check(name, label, given, results, function, len(rows)))
    return {
        "stage_declarations": "".join(declared),
        "stage_definitions": "".join(defined),
        "known_stages": "".join(known),
        "check_stages": "".join(checks),
    }


def function_arguments(key: str) -> tuple[str, ...]:
    """Return the arguments of a function of `ControlProblem.functions`."""
    return ("x", "p") if key.startswith("end") else ("x", "u", "p")


def _samples(one: RecordedStages, key: str, function: ca.Function) -> Iterator[tuple[FloatArray, ...]]:
    """Yield arguments and results at some stages of the recorded iterate, or at its end."""
    stages = one.problem.stages
    numbers = [stages] if key.startswith("end") else np.linspace(0, stages - 1, _SAMPLES).astype(int).tolist()
    for k in numbers:
        given = [one.x[k], one.p[k]] if key.startswith("end") else [one.x[k], one.u[k], one.p[k]]
        results = function.call([ca.DM(part) for part in given], False, False)
        yield (*given, *(np.asarray(result).ravel(order="F") for result in results))


def _check(
    name: str, label: str, given: tuple[str, ...], results: tuple[str, ...], function: ca.Function, count: int
) -> str:
    sizes = {part: function.numel_out(i) for i, part in enumerate(results)}
    declared = ", ".join(f"{part}[{size}]" for part, size in sizes.items())
    arguments = ", ".join([*(f"{label}_{part}[k]" for part in given), *results])
    compared = "".join(
        f"        compare({part}, {label}_{part}[k], {size}, &stages);\n" for part, size in sizes.items()
    )
    return (
        f"    for (int k = 0; k < {count}; ++k) {{\n        double {declared};\n"
        f"        if ({name}_{label}({arguments})) return 2;\n{compared}    }}\n"
    )
