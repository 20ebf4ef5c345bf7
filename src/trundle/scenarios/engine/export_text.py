"""C and CMake files of an export, as texts: header, source, a self-check program, and the CMake file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trundle import __version__
from trundle.checks import FloatArray

if TYPE_CHECKING:
    import casadi as ca

    from trundle.scenarios.engine.export import Feedback

LARGEST = 1e-12
"""Largest difference, divided by 1 + |value|, with which main.c still succeeds."""


@dataclass(frozen=True)
class Sample:
    """One evaluation by Python: time, state, input, x', contact forces, and the controller's output."""

    time: float
    x: FloatArray
    u: FloatArray
    rate: FloatArray
    force: FloatArray
    control: FloatArray | None


def header(name: str, scenario: str, model: ca.Function, feedback: Feedback | None) -> str:
    """Return the header a user includes."""
    upper = name.upper()
    control = ""
    if feedback is not None:
        control = f"""
/* Input u for the state x measured at a time (s), to be held for {upper}_PERIOD; 0 for success. */
#define {upper}_PERIOD {feedback.period!r}
int {name}_control(double time, const double x[{upper}_NX], double u[{upper}_NU]);
"""
    return f"""/* Scenario {scenario}, written by trundle {__version__}. SI units; for one thread. */
#ifndef {upper}_H
#define {upper}_H

#define {upper}_NX {model.size1_in(0)}
#define {upper}_NU {model.size1_in(1)}
#define {upper}_NF {model.size1_out(1)}

/* Rate xdot of the state x under the input u, and the contact forces (N), in the mode of the start; 0 for success. */
int {name}_rate(const double x[{upper}_NX], const double u[{upper}_NU], double xdot[{upper}_NX],
                double force[{upper}_NF ? {upper}_NF : 1]);
{control}
#endif
"""


def source(name: str, model: ca.Function, feedback: Feedback | None) -> str:
    """Return the source of the header's functions: calls of CasADi functions with their work memory, and the gains."""
    upper = name.upper()
    parts = [
        f'#include "{name}.h"\n#include "{name}_functions.h"\n#include <math.h>\n',
        f"""int {name}_rate(const double x[{upper}_NX], const double u[{upper}_NU], double xdot[{upper}_NX],
                double force[{upper}_NF ? {upper}_NF : 1])
{{
{_call(f"{name}_model", model, ("x", "u"), ("xdot", "force"))}}}
""",
    ]
    if feedback is not None:
        count = len(feedback.held)
        parts += [_array(f"{part}", getattr(feedback, part)) for part in ("reference", "held", "gains")]
        arguments = ("x", "reference[j]", "held[j]", "gains[j]")
        parts.append(f"""int {name}_control(double time, const double x[{upper}_NX], double u[{upper}_NU])
{{
    /* Row j of reference, inputs and gains: the last one from the end of the reference on. */
    const double step = floor((time - {feedback.first!r}) / {upper}_PERIOD + 1e-6);
    const int i = step < 0 ? 0 : step > {count - 1} ? {count - 1} : (int)step;
    const int j = time >= {feedback.last!r} - 1e-9 * {upper}_PERIOD ? {count - 1} : i;
{_call(f"{name}_law", feedback.law, arguments, ("u",))}}}
""")
    return "\n".join(parts)


def main(name: str, model: ca.Function, samples: list[Sample]) -> str:
    """Return a program that compares the functions with the samples and prints the largest difference."""
    upper = name.upper()
    controlled = samples[0].control is not None
    rows = ("x", "u", "rate", "force", *(["control"] if controlled else []))
    forces = max(model.size1_out(1), 1)
    arrays = []
    for label in rows:
        values = [np.resize(getattr(s, label), forces if label == "force" else getattr(s, label).size) for s in samples]
        arrays.append(_array(f"known_{label}", np.array(values)))
    if controlled:
        arrays.append(_array("known_time", np.array([[s.time] for s in samples])))
    control = f"""        double answer[{upper}_NU];
        if ({name}_control(known_time[k][0], known_x[k], answer)) return 2;
        compare(answer, known_control[k], {upper}_NU, &controller);
"""
    told = '    printf("largest difference: controller %.3g\\n", controller);\n'
    return f"""/* Compares the exported functions with values computed by trundle {__version__} in Python. */
#include "{name}.h"
#include <math.h>
#include <stdio.h>

{"".join(arrays)}
/* Largest difference over 1 + |value|; what is not a number counts as infinite. */
static void compare(const double *here, const double *known, int count, double *largest)
{{
    for (int i = 0; i < count; ++i) {{
        const double difference = fabs(here[i] - known[i]) / (1.0 + fabs(known[i]));
        if (!(difference <= *largest)) *largest = difference == difference ? difference : INFINITY;
    }}
}}

int main(void)
{{
    double model = 0.0, controller = 0.0;
    for (int k = 0; k < {len(samples)}; ++k) {{
        double rate[{upper}_NX], force[{upper}_NF ? {upper}_NF : 1];
        if ({name}_rate(known_x[k], known_u[k], rate, force)) return 2;
        compare(rate, known_rate[k], {upper}_NX, &model);
        compare(force, known_force[k], {upper}_NF, &model);
{control if controlled else ""}    }}
    printf("largest difference: model %.3g\\n", model);
{told if controlled else ""}    return model <= {LARGEST!r} && controller <= {LARGEST!r} ? 0 : 1;
}}
"""


def cmake(name: str) -> str:
    """Return the CMake file: a library and the program that checks it."""
    return f"""cmake_minimum_required(VERSION 3.10)
project({name} C)
set(CMAKE_C_STANDARD 99)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library({name} STATIC {name}.c {name}_functions.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_compile_options({name} PRIVATE -ffp-contract=off)
target_link_libraries({name} PUBLIC m)
add_executable({name}_check main.c)
target_link_libraries({name}_check {name})
enable_testing()
add_test(NAME {name}_check COMMAND {name}_check)
"""


def _call(c_name: str, function: ca.Function, arguments: Iterable[str], results: Iterable[str]) -> str:
    """Return the C statements that call a CasADi function and return its status."""
    given, asked = list(arguments), list(results)
    lines = [
        f"    static casadi_real w[{max(function.sz_w(), 1)}];",
        f"    static casadi_int iw[{max(function.sz_iw(), 1)}];",
        f"    const casadi_real *arg[{max(function.sz_arg(), len(given))}] = {{{', '.join(given)}}};",
        f"    casadi_real *res[{max(function.sz_res(), len(asked))}] = {{{', '.join(asked)}}};",
        f"    return {c_name}(arg, res, iw, w, 0);",
    ]
    return "\n".join(lines) + "\n"


def _array(name: str, values: FloatArray) -> str:
    """Return a constant array of two dimensions; an empty row becomes one zero."""
    rows = values if values.shape[1] else np.zeros((len(values), 1))
    body = ",\n".join("    {" + ", ".join(repr(float(v)) for v in row) + "}" for row in rows)
    return f"static const double {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}\n}};\n"
