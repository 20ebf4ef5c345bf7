"""A tick of whole-body control as expressions of the robot's terms, for `trundle export`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control.inverse_dynamics import DAMPING, Limit, Task, assemble, program_layout
from trundle.control.inverse_dynamics.algebra import Expressions
from trundle.control.inverse_dynamics.ticking import PARTS, Torques, make_tick, packed_begin
from trundle.control.tick import Argument, ControlTick, NamedEntry
from trundle.systems.multicontact.whole_body.program import TickProgram
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController

_TERMS = {"M": "inertia", "h": "bias: M nudot + h = S u + J'lam", "J": "contact rows", "b": "J nudot + b = 0"}


def whole_body_tick(controller: WholeBodyController, program: TickProgram, period: float) -> ControlTick:
    """Return a tick of the controller while the ends of a program stand and move; it may hold nothing.

    Its arguments are what `WholeBodyController` makes of a state and a target: the terms of the equations of motion
    (M, h, J, b), each task's rows A and target, and the limits of the joints and of distances; see `TickProgram`.

    Parameters
    ----------
    controller : WholeBodyController
    program : TickProgram
        See `WholeBodyController.program`.
    period : float, s
    """
    arrays = _list_written_arrays(program)
    symbols = {name: ca.SX.sym(name, *np.atleast_2d(array.T).T.shape) for name, array in arrays.items()}
    given = {name: ca.MX.sym(name, *symbol.shape) for name, symbol in symbols.items()}
    layout = program.layout
    tasks = [_with(task, symbols) for task in layout.tasks]
    limits = [_with(limit, symbols) for limit in layout.limits]
    layout = program_layout(layout.nv, layout.m, layout.n_u, limits, tasks, layout.form)
    S, D = (ca.sparsify(ca.SX(ca.DM(matrix))) for matrix in (program.S, program.D))
    M, h, J, b = (symbols[name] for name in _TERMS)
    found = assemble(layout, (M, h, S, J, b, J, D), DAMPING, Expressions)
    parts = {name: getattr(found, name) for name in PARTS if name not in ("H", "g")}
    results = [ca.densify(part.T if name in ("A", "X", "T") else part) for name, part in parts.items()]
    memory = ca.MX.sym("memory", layout.n_u)
    shapes = {name: result.shape for name, result in zip(parts, results[:-2], strict=False)}
    linear = _linear(list(symbols.values()), results[:-2])
    bounds = ca.Function("bounds", list(symbols.values()), results[-2:])
    called = [linear(*given.values()), *bounds.call(list(given.values()), False, False)]
    begin = packed_begin(given, memory, layout.n, called, ca.MX(0, 1), ca.MX(1))
    torques = Torques(range(layout.n_u), layout.n_u, hold=True)
    solving = make_tick(layout, DAMPING, shapes, begin, torques)
    arguments = {name: Argument(symbol.shape, meaning=_meaning(name, program)) for name, symbol in symbols.items()}
    outputs = tuple(NamedEntry(joint, "N m") for joint in controller.humanoid.robot.joints)
    return ControlTick(arguments, *solving, period, outputs)


def whole_body_values(program: TickProgram) -> tuple[FloatArray, ...]:
    """Return the arguments of the program's last tick; matrices by columns."""
    return tuple(array.flatten(order="F") for array in _list_written_arrays(program).values())


def _linear(symbols: list[ca.SX], parts: list[ca.SX]) -> Callable[..., ca.MX]:
    """Return the function from all symbols to all parts in one vector, which is linear in them, as one sparse product.

    Written out entry by entry it takes a C compiler a minute.
    """
    all_of, flat = ca.vertcat(*map(ca.vec, symbols)), ca.vertcat(*map(ca.vec, parts))
    slope = ca.evalf(ca.jacobian(flat, all_of))
    fixed = ca.evalf(ca.substitute(flat, all_of, ca.SX.zeros(*all_of.shape)))
    return lambda *given: ca.MX(slope) @ ca.vertcat(*map(ca.vec, given)) + ca.MX(fixed)


def _list_written_arrays(program: TickProgram) -> dict[str, FloatArray]:
    """Return the arrays that ticks write into, by their names as arguments."""
    found = {name: getattr(program, name) for name in _TERMS}
    for name, task in program.tasks.items():
        if name not in ("force", "posture"):
            found[_name(name, "A")] = task.A
        if name != "force":
            found[_name(name, "target")] = task.target
    joints = program.limits["joints"]
    found |= {"joints_lower": joints.lower, "joints_upper": joints.upper}
    if "collision" in program.limits:
        collision = program.limits["collision"]
        found |= {"collision_A": collision.A, "collision_lower": collision.lower}
    return found


def _name(item: str, part: str) -> str:
    return re.sub(r"\W", "_", f"{item}_{part}")


_Item = TypeVar("_Item", Task, Limit)


def _with(item: _Item, symbols: Mapping[str, ca.SX]) -> _Item:
    """Return a task or limit with symbols for what ticks write."""
    parts = {part: symbols.get(_name(item.name, part)) for part in ("A", "target", "lower", "upper")}
    return replace(item, **{part: symbol for part, symbol in parts.items() if symbol is not None})


def _meaning(name: str, program: TickProgram) -> str:
    if name in _TERMS:
        return _TERMS[name]
    for item in (*program.layout.tasks, *program.layout.limits):
        for part, text in _PARTS.items():
            if name == _name(item.name, part):
                return text.format(item.unit)
    raise ValueError(name)


_PARTS = {
    "A": "rows A of A nudot",
    "target": "acceleration wanted less the bias, {}",
    "lower": "least A nudot, {}",
    "upper": "most A nudot, {}",
}
