"""C and CMake files of an export, filled into `templates`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control.tick import Argument, ControlTick, NamedEntry, RecordedTicks
from trundle.models.tree.model import TreeModel
from trundle.scenarios.engine.building import RecordedStages
from trundle.scenarios.engine.export import names, stages, ticks
from trundle.scenarios.engine.export.feedback import Feedback
from trundle.version import __version__

LARGEST = 1e-12
"""Largest difference, divided by 1 + |value|, with which main.c still succeeds."""
LARGEST_STAGE = 1e-9
"""That of stages: derivatives of barriers differ by the order of sums."""
_TEMPLATES = Path(__file__).with_name("templates")
Values = dict[str, str | int | float]
"""What stands for ``@key@`` in the templates."""


@dataclass(frozen=True)
class Sample:
    """One evaluation by Python: time, state, input, x', contact forces, and the controller's output."""

    time: float
    x: FloatArray
    u: FloatArray
    rate: FloatArray
    force: FloatArray
    control: FloatArray | None


@dataclass(frozen=True)
class Contents:
    """What an export writes.

    Attributes
    ----------
    model : (TreeModel, casadi.Function), optional
        (x, u) -> x', contact forces.
    feedback : Feedback, optional
    samples : sequence of Sample
        Of the model and the feedback.
    ticks : mapping of str to (ControlTick, RecordedTicks)
        By their names, "" of the only one.
    stages : mapping of str to RecordedStages
    """

    model: tuple[TreeModel, ca.Function] | None = None
    feedback: Feedback | None = None
    samples: Sequence[Sample] = ()
    ticks: Mapping[str, tuple[ControlTick, RecordedTicks]] = field(default_factory=dict)
    stages: Mapping[str, RecordedStages] = field(default_factory=dict)

    def functions(self, name: str) -> dict[str, ca.Function]:
        """Return CasADi's functions by their names in C."""
        found = {f"{name}_model": self.model[1]} if self.model else {}
        found |= {f"{name}_law": self.feedback.law} if self.feedback else {}
        found |= stages.functions(name, self.stages)
        for title, (tick, _) in self._list_ticks(name).items():
            found |= ticks.functions(title, tick)
        return found

    def _list_ticks(self, name: str) -> dict[str, tuple[ControlTick, RecordedTicks]]:
        """Return the ticks by the prefix of their names in C."""
        return {f"{name}_{key}" if key else name: tick for key, tick in self.ticks.items()}

    def texts(self, name: str, scenario: str) -> dict[str, str]:
        """Return the files by name: header, sources, a program that compares with the samples, and the CMake file.

        In the templates ``@key@`` is a value; what is between the lines ``@section{`` and ``@}`` is of a section: the
        ``model``, ``control`` by a schedule of gains, ``ticks`` that solve quadratic programs, ``stages`` of optimal
        control problems.
        """
        files = {f"{name}.c": "source.c"} if self.model else {}
        files |= {f"{name}_stages.c": "stages.c"} if self.stages else {}
        values: Values = {"name": name, "NAME": name.upper(), "scenario": scenario, "version": __version__}
        values |= {"largest": LARGEST, "stages_largest": LARGEST_STAGE}
        values |= _model(name, *self.model, self.samples) if self.model else {}
        values |= _feedback(name, self.feedback, self.samples) if self.feedback else {}
        values |= stages.values(name, self.stages, _call, _array, _entries)
        parts = {"model": self.model, "control": self.feedback, "ticks": self.ticks, "stages": self.stages}
        written = ticks.sources() if self.ticks else {}
        pieces: dict[str, list[str]] = {"tick_declarations": [], "tick_checks": [], "tick_calls": []}
        for title, (tick, recorded) in self._list_ticks(name).items():
            own, of = _tick(title, tick, recorded), {"outputs": tick.outputs}
            pieces["tick_declarations"].append(_fill_template("tick.h", own, of))
            pieces["tick_checks"].append(_fill_template("tick_check.c", own, of))
            what = title.removeprefix(name).strip("_") or "controller"
            pieces["tick_calls"].append(_CALL.format(title=title, what=what, accuracy=tick.accuracy))
            written[f"{title}_tick.c"] = _fill_template("tick.c", own | {"header": name}, of)
        values |= {key: "".join(texts) for key, texts in pieces.items()}
        sources = [*files, *(file for file in written if file.endswith(".c")), f"{name}_functions.c"]
        values["sources"] = " ".join(sources)
        files |= {f"{name}.h": "header.h", "main.c": "main.c", "CMakeLists.txt": "CMakeLists.txt"}
        return {file: _fill_template(template, values, parts) for file, template in files.items()} | written


_CALL = """    controller = {title}_compared();
    printf("largest difference: {what} %.3g\\n", controller);
    {title}_loop();
    failed |= !(controller <= {accuracy:g});
"""


def _fill_template(template: str, values: Values, parts: Mapping[str, object]) -> str:
    """Return a template with its values, and those of its sections whose part is there."""
    text = (_TEMPLATES / template).read_text("utf-8")
    section = re.compile(r"^@(\w+)\{\n(.*?)^@\}\n", re.DOTALL | re.MULTILINE)
    text = section.sub(lambda found: found[2] if parts[found[1]] else "", text)
    return re.sub(r"@(\w+)@", lambda found: str(values[found[1]]), text)


def _model(name: str, tree: TreeModel, model: ca.Function, samples: Sequence[Sample]) -> Values:
    nf = model.size1_out(1)
    known = {label: [getattr(s, label) for s in samples] for label in ("x", "u", "rate")}
    known["force"] = [np.resize(s.force, max(nf, 1)) for s in samples]
    return {
        "nx": model.size1_in(0),
        "nu": model.size1_in(1),
        "nf": nf,
        "count": len(samples),
        "states": _entries(name, "X", names.states(tree)),
        "inputs": _entries(name, "U", names.inputs(tree)),
        "forces": _entries(name, "F", names.forces(tree)),
        "call_model": _call(f"{name}_model", model, ("x", "u"), ("xdot", "force")),
        "known": "".join(_array(f"known_{label}", np.array(rows)) for label, rows in known.items()),
    }


def _feedback(name: str, feedback: Feedback, samples: Sequence[Sample]) -> Values:
    known = {"control": [s.control for s in samples], "time": [[s.time] for s in samples]}
    values: Values = {key: _array(key, getattr(feedback, key)) for key in ("reference", "held", "gains")}
    values |= {key: repr(getattr(feedback, key)) for key in ("period", "first", "last")}
    values["last_row"] = len(feedback.held) - 1
    values["call_law"] = _call(f"{name}_law", feedback.law, ("x", "reference[j]", "held[j]", "gains[j]"), ("u",))
    values["known_control"] = "".join(_array(f"known_{label}", np.array(rows)) for label, rows in known.items())
    return values


def _tick(name: str, tick: ControlTick, recorded: RecordedTicks) -> Values:
    values: Values = {"name": name, "NAME": name.upper(), **ticks.values(name, tick, len(recorded.u), _call)}
    given = [_argument(name, key, argument) for key, argument in tick.arguments.items() if key != "x"]
    values["tick_enumerations"] = "\n".join(given)
    rows = {**recorded.arguments, "u": recorded.u}
    values["known_ticks"] = "".join(_array(f"{name}_known_{key}", column) for key, column in rows.items())
    if tick.outputs:
        values |= {"nu": len(tick.outputs), "outputs": _entries(name, "U", tick.outputs)}
    return values


def _argument(name: str, key: str, argument: Argument) -> str:
    if argument.entries:
        return f"/* Entries of {key}. */\n{_entries(name, key, argument.entries)}"
    rows, columns = argument.shape
    shape = f"{rows}" if columns == 1 else f"{rows} x {columns}"
    count = f"{name}_{key}_count".upper()
    return f"enum {{ {count} = {rows * columns} }}; /* {key}, {shape}: {argument.meaning} */\n"


def _entries(name: str, argument: str, entries: Sequence[NamedEntry]) -> str:
    return names.enumeration(f"{name}_{argument}".upper(), entries)


def _call(c_name: str, function: ca.Function, arguments: Sequence[str], results: Sequence[str]) -> str:
    """Return the C statements that call a CasADi function and return its status."""
    arguments = arguments or ("0",)
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
    body = ",\n".join("    {" + ", ".join(_number(v) for v in row) + "}" for row in rows)
    return f"static const double {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}\n}};\n"


def _number(value: float) -> str:
    return repr(float(value)).replace("inf", "INFINITY")
