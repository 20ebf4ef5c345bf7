"""C and CMake files of an export, filled into `templates`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trundle import __version__
from trundle.checks import FloatArray
from trundle.control.tick import Entry, TickProgram
from trundle.models.tree.model import TreeModel
from trundle.scenarios.engine.export import names, ticks
from trundle.scenarios.engine.export.ticks import Ticks

if TYPE_CHECKING:
    import casadi as ca

    from trundle.scenarios.engine.export.feedback import Feedback

LARGEST = 1e-12
"""Largest difference, divided by 1 + |value|, with which main.c still succeeds."""
LARGEST_TICK = 1e-6
"""That of inputs that come of quadratic programs: where tasks leave them free, only the damping decides."""
_TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Sample:
    """One evaluation by Python: time, state, input, x', contact forces, and the controller's output."""

    time: float
    x: FloatArray
    u: FloatArray
    rate: FloatArray
    force: FloatArray
    control: FloatArray | None


def texts(
    name: str,
    scenario: str,
    tree: TreeModel,
    model: ca.Function,
    feedback: Feedback | None,
    samples: Sequence[Sample],
    tick: tuple[TickProgram, Ticks] | None,
) -> dict[str, str]:
    """Return the files by name: header, source, a program that compares with the samples, and the CMake file.

    In the templates ``@key@`` is a value; what is between the lines ``@control{`` and ``@}`` is of a schedule of gains,
    between ``@tick{`` and ``@}`` of a controller that solves quadratic programs.
    """
    values = {"name": name, "NAME": name.upper(), "scenario": scenario, "version": __version__, "largest": LARGEST}
    values["controller_largest"] = LARGEST
    values |= {"nx": model.size1_in(0), "nu": model.size1_in(1), "nf": model.size1_out(1), "count": len(samples)}
    for key, letter, entries in (
        ("states", "X", names.states),
        ("inputs", "U", names.inputs),
        ("forces", "F", names.forces),
    ):
        values[key] = _entries(name, letter, entries(tree))
    values |= {"call_model": _call(f"{name}_model", model, ("x", "u"), ("xdot", "force"))}
    known = {label: [getattr(s, label) for s in samples] for label in ("x", "u", "rate")}
    known["force"] = [np.resize(s.force, max(model.size1_out(1), 1)) for s in samples]
    if feedback is not None:
        known |= {"control": [s.control for s in samples], "time": [[s.time] for s in samples]}
        values |= {key: _array(key, getattr(feedback, key)) for key in ("reference", "held", "gains")}
        values |= {key: repr(getattr(feedback, key)) for key in ("period", "first", "last")}
        values["last_row"] = len(feedback.held) - 1
        values["call_law"] = _call(f"{name}_law", feedback.law, ("x", "reference[j]", "held[j]", "gains[j]"), ("u",))
    if tick is not None:
        program, rows = tick
        values |= ticks.values(name, program, rows, _call) | {"controller_largest": LARGEST_TICK}
        given = (
            f"/* Entries of {key}. */\n{_entries(name, key, entries)}" for key, entries in program.arguments.items()
        )
        values["tick_enumerations"] = "\n".join(given)
        columns = {"x": rows.x, **rows.arguments, "u": rows.u}
        values["known_ticks"] = "".join(_array(f"tick_{key}", column) for key, column in columns.items())
    values["known"] = "".join(_array(f"known_{label}", np.array(rows)) for label, rows in known.items())

    values["more_sources"] = f" {name}_tick.c" if tick is not None else ""
    sections = {"control": feedback is not None, "tick": tick is not None}

    def filled(template: str) -> str:
        text = (_TEMPLATES / template).read_text("utf-8")
        section = re.compile(r"^@(\w+)\{\n(.*?)^@\}\n", re.DOTALL | re.MULTILINE)
        text = section.sub(lambda found: found[2] if sections[found[1]] else "", text)
        return re.sub(r"@(\w+)@", lambda found: str(values[found[1]]), text)

    targets = {f"{name}.h": "header.h", f"{name}.c": "source.c", "main.c": "main.c", "CMakeLists.txt": "CMakeLists.txt"}
    targets |= {f"{name}_tick.c": "tick.c"} if tick is not None else {}
    return {target: filled(template) for target, template in targets.items()}


def _entries(name: str, argument: str, entries: Sequence[Entry]) -> str:
    return names.enumeration(f"{name}_{argument}".upper(), entries)


def _call(c_name: str, function: ca.Function, arguments: Sequence[str], results: Sequence[str]) -> str:
    """Return the C statements that call a CasADi function and return its status."""
    lines = [
        f"    static casadi_real w[{max(function.sz_w(), 1)}];",
        f"    static casadi_int iw[{max(function.sz_iw(), 1)}];",
        f"    const casadi_real *arg[{max(function.sz_arg(), len(arguments))}] = {{{', '.join(arguments)}}};",
        f"    casadi_real *res[{max(function.sz_res(), len(results))}] = {{{', '.join(results)}}};",
        f"    return {c_name}(arg, res, iw, w, 0);",
    ]
    return "\n".join(lines) + "\n"


def _array(name: str, values: FloatArray) -> str:
    """Return a constant array of two dimensions; an empty row becomes one zero."""
    rows = values if values.shape[1] else np.zeros((len(values), 1))
    body = ",\n".join("    {" + ", ".join(repr(float(v)) for v in row) + "}" for row in rows)
    return f"static const double {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}\n}};\n"
