"""Inverse dynamics: the one quadratic program that turns tasks, limits and contacts into torques."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, non_negative, positive
from trundle.control.inverse_dynamics.algebra import Expressions, Numbers
from trundle.control.inverse_dynamics.assembly import AssembledProgram, assemble, program_layout
from trundle.control.inverse_dynamics.command import Command, Flags, Solvers, solve_program, unchangeable_tasks
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.control.inverse_dynamics.slip import Slipping
from trundle.control.inverse_dynamics.tasks import Limit, Task
from trundle.control.inverse_dynamics.ticking import Torques, begin_measured, make_tick
from trundle.control.tick import Argument, ControlTick, NamedEntry
from trundle.errors import InputError
from trundle.models.tree.multibody import Terms
from trundle.numerics.compiled.buffered import BufferedCall
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.qp.qp import TOLERANCE
from trundle.threads import PerThread

if TYPE_CHECKING:
    from trundle.control.inverse_dynamics.integral import IntegralAction

_TOUCHES = "1: touches, 0: does not"
DAMPING = 1e-8
"""Weight of |w|^2, the program's unknowns: it only decides what no task decides."""


def inverse_dynamics(
    M: ArrayLike,
    h: ArrayLike,
    S: ArrayLike,
    J: ArrayLike,
    b: ArrayLike,
    limits: Sequence[Limit],
    tasks: Sequence[Task],
    *,
    G: ArrayLike | None = None,
    form: str = "force",
    solver: str = "daqp",
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
) -> Command:
    """Return the accelerations, contact multipliers and torques that serve tasks best within limits.

    Minimise sum weight |A y - target|^2 + damping |w|^2 over x = (nudot, lam, u), y one of the three, subject to
    M nudot + h = S u + G'lam, J nudot + b = 0 and lower <= A y <= upper (paper 4, (16); with cones, which its
    discussion asks for).

    Parameters
    ----------
    M, h, S : (nv, nv), (nv,), (nv, n_u)
        S of full column rank.
    J, b : (m, nv), (m,)
        Contact rows; see `trundle.models.tree.multibody.Terms`.
    limits : sequence of Limit
        `friction`, `torque_limit`, ... of `trundle.control.inverse_dynamics.tasks`.
    tasks : sequence of Task
        At least one. Levels are strict priorities.
    G : (m, nv), optional
        Directions of the push where they are not J (sliding).
    form : str
        ``"force"``: unknowns (nudot, lam), for any J. ``"torque"``: unknowns u; J of full row rank. ``"full"``: all.
    solver, tolerance
        See `trundle.numerics.qp.qp.QpSolver`.

    Raises
    ------
    InputError
        For arrays of wrong shape or with NaN. A program without solution does not raise: see `Command.status`.
    """
    M = array("M", M, (None, None))
    nv = len(M)
    terms = {"M": M, "h": array("h", h, (nv,)), "S": array("S", S, (nv, None)), "J": array("J", J, (None, nv))}
    terms["b"] = array("b", b, (len(terms["J"]),))
    terms["G"] = terms["J"] if G is None else array("G", G, terms["J"].shape)
    terms["D"] = np.zeros((len(terms["J"]), len(terms["J"])))
    if M.shape != (nv, nv):
        raise InputError("M", M.shape, "square")
    layout = program_layout(nv, len(terms["J"]), terms["S"].shape[1], limits, tasks, form)
    damping = non_negative("damping", damping)
    data = assemble(layout, tuple(terms.values()), damping, Numbers)
    return solve_program(layout, data, Solvers(layout, solver, tolerance, damping))


class Driven(Protocol):
    """What `InverseDynamics` reads of `trundle.models.tree.multibody.Dynamics`."""

    @property
    def x(self) -> ca.SX:
        """State (n_x,)."""
        ...

    @property
    def u(self) -> ca.SX:
        """Inputs (n_u,)."""
        ...

    @property
    def terms(self) -> Terms:
        """M, h, S, J, b, G, velocity, position."""
        ...


class InverseDynamics:
    """Inverse dynamics of a model, compiled once: the state and the references go in, the command comes out.

    One compiled function gives all the program's matrices; a call is that function, one program for each level
    of priority, and the recomputation of its residuals.

    Parameters
    ----------
    dynamics : Dynamics
        Of `Multibody.dynamics` in the mode of the contacts. Twist rates of prescribed bodies are taken as zero.
    tasks, limits : sequences of Task and Limit
        Expressions of ``dynamics.x``, `reference` and `last`, or numbers.
    reference : (n_r,) SX, optional
        Symbols of what changes from call to call: desired values, weights, bounds.
    last : (n_u,) SX, optional
        Symbols of the last torques, for `torque_rate_limit`.
    touching : (contacts,) SX, optional
        Symbols of which contacts touch, 1 or 0, in the order of ``terms.split``: of one that does not, the rows are
        left out and lam is zero; limits and weights of tasks may depend on them (`tasks`). Without
        them every contact of the mode touches.
    compliance : (contacts,) 1/kg, optional
        By how much the rows give way, m/s2 a newton: > 0 where the rows of several contacts may depend on each other.
    slipping : Slipping, optional
        Symbols of which contacts slide, in the plane: their tangential rows are then those of sliding.
    baumgarte : float, 1/s
        Adds 2 k (J nu) + k^2 gap to the contact rows (sheet of planar curves, 4).
    form, solver, damping, tolerance
        See `inverse_dynamics`.

    Raises
    ------
    InputError
        For tasks or limits that do not fit, or with symbols that are not given.

    Examples
    --------
    A wheel-leg vehicle that shall drive at the speed r[0] at the height r[1] (`tasks` is the module beside this one)::

        dynamics = model.dynamics([ROLLING] * len(model.constraints))
        terms, base, r = dynamics.terms, model.motions["base"], ca.SX.sym("r", 2)
        run = InverseDynamics(
            dynamics,
            [
                tasks.position(base, axes=[1, 0]).tracking("speed", rate=r[0], kd=8.0),
                tasks.position(base, axes=[0, 1]).tracking("height", r[1], kp=60.0, kd=16.0),
                tasks.smallest_torques(6, level=1),
            ],
            [tasks.torque_limit(150.0), *tasks.contact_limits(model.constraints, terms.kin, terms.split)],
            reference=r,
        )
        policy = InverseDynamicsPolicy(run, lambda time: [0.5, 0.62], period=0.01)
    """

    def __init__(
        self,
        dynamics: Driven,
        tasks: Sequence[Task],
        limits: Sequence[Limit],
        *,
        reference: ca.SX | None = None,
        last: ca.SX | None = None,
        touching: ca.SX | None = None,
        compliance: Sequence[float] | None = None,
        slipping: Slipping | None = None,
        baumgarte: float = 0.0,
        form: str = "torque",
        solver: str = "daqp",
        damping: float = DAMPING,
        tolerance: float = TOLERANCE,
    ) -> None:
        terms, beta = dynamics.terms, non_negative("baumgarte", baumgarte)
        S = np.array(ca.DM(terms.S))
        self._driven = np.flatnonzero(np.any(S != 0, axis=0))
        self._inputs = S.shape[1]
        b = terms.b + 2 * beta * terms.velocity + beta**2 * terms.position
        contacts = switch_contacts(terms, b, touching, compliance, slipping)
        rows = (terms.M, terms.h, ca.SX(ca.DM(S[:, self._driven])), *contacts)
        nv, m = terms.M.shape[0], terms.J.shape[0]
        layout = program_layout(nv, m, len(self._driven), limits, tasks, form)
        self.damping = positive("damping", damping)
        self.layout = layout
        program = assemble(layout, rows, self.damping, Expressions)
        none = ca.SX(0, 1)
        symbols = (reference, last, touching, None if slipping is None else slipping.symbols)
        given = [dynamics.x, *(none if one is None else one for one in symbols)]
        self.expressions = _expressions(program, given, dynamics.u)
        """`function` before it was compiled."""
        self._function = compile_function(self.expressions)
        self._names = [[symbol.name() for symbol in ca.vertsplit(one)] if one.shape[0] else [] for one in given]
        self._solvers = Solvers(layout, solver, tolerance, self.damping)
        self._sizes = [symbols.shape[0] for symbols in given]
        self._buffers = PerThread(self._bind)

    def _bind(self) -> tuple[FloatArray, list[FloatArray], AssembledProgram[FloatArray], BufferedCall]:
        """Return the array that the function reads, its parts, the arrays that the solver takes, and the call."""
        given, data = np.zeros(sum(self._sizes)), self._blank()
        arguments = np.split(given, np.cumsum(self._sizes)[:-1])
        results = [getattr(data, field.name) for field in dataclasses.fields(data)]
        return given, arguments, data, BufferedCall(self._function, arguments, results)

    def _blank(self) -> AssembledProgram[FloatArray]:
        layout, k = self.layout, sum(part.stop - part.start for part in self.layout.task_rows)
        n, size, rows = layout.n, layout.nv + layout.m + layout.n_u, layout.rows
        # CasADi writes columns: matrices come out transposed, so that rows are contiguous.
        shapes = ((n, n), n, (rows, n), (size, n), size, (k, n), k, k, n + rows, n + rows, k)
        return AssembledProgram(*(np.zeros(shape) for shape in shapes))

    @property
    def solver(self) -> str:
        """Name of the solver."""
        return self._solvers.name

    @property
    def remembers(self) -> bool:
        """Whether a call needs the last torques."""
        return self._sizes[2] > 0

    @property
    def contacts(self) -> int:
        """How many contacts a call has to say of whether they touch; 0: it is not asked."""
        return self._sizes[3]

    @property
    def function(self) -> ca.Function:
        """The compiled function of x, reference, last, touching and slipping.

        It gives H, g, A', X', x0, T', t, weight, bounds and the sizes of the tasks' terms.
        """
        return self._function

    def control_tick(
        self, finder: ContactFinder | None, hold: bool, period: float, integral: IntegralAction | None = None
    ) -> ControlTick:
        """Return a call as expressions, held or not where there are no new torques; see `ControlTick`.

        Entries of the reference are named by their symbols, and by their units where those begin with a task's name.
        """
        units = {task.name: task.unit.removesuffix("/s2") for task in self.layout.tasks}
        arguments = {"x": Argument((self._sizes[0], 1))}
        arguments["reference"] = Argument.of(tuple(NamedEntry(name, _unit(name, units)) for name in self._names[1]))
        if self.contacts:
            arguments["touching"] = Argument.of(tuple(NamedEntry(name, _TOUCHES) for name in self._names[3]))
        shapes, begin = begin_measured(self.expressions, self.layout.n_u, finder, arguments, integral)
        torques = Torques(self._driven.tolist(), self._inputs, hold)
        seeds = () if finder is None else finder.places
        solving = make_tick(self.layout, self.damping, shapes, begin, torques, seeds, integral)
        return ControlTick(arguments, *solving, period)

    def assemble(
        self,
        state: FloatArray,
        reference: ArrayLike = (),
        last: ArrayLike = (),
        touching: Flags = (),
        slipping: Flags = (),
    ) -> AssembledProgram:
        """Return the program's numbers; they are overwritten by the next call in the same thread."""
        _, (x, r, u, on, slip), data, evaluate = self._buffers()
        if slip.size != len(slipping):
            raise InputError("slipping", slipping, f"{slip.size} numbers, see Slipping")
        x[:] = state
        if r.size:
            r[:] = reference
        if u.size:
            u[:] = last
        if on.size:
            on[:] = touching if len(touching) else 1.0
        if slip.size:
            slip[:] = slipping
        evaluate()
        return data

    def __call__(
        self,
        state: FloatArray,
        reference: ArrayLike = (),
        last: ArrayLike = (),
        touching: Flags = (),
        slipping: Flags = (),
    ) -> Command:
        """Return the command for the measured `state` (n_x,), `reference` (n_r,) and `last` torques (n_u,).

        ``touching`` (contacts,) says which contacts touch, where the controller has symbols for that (left
        out: all), ``slipping`` (2 contacts,) which slide, see `Slipping`. A NaN or an infinity among them gives
        ``Status.NOT_FINITE``; see `Command`.
        """
        data = self.assemble(state, reference, last, touching, slipping)
        # A coordinate that no equation reads may be NaN too: then the measurement is broken.
        finite = math.isfinite(np.add.reduce(self._buffers()[0]))
        return solve_program(self.layout, data, self._solvers, finite)

    def unchangeable(
        self,
        state: FloatArray,
        reference: ArrayLike = (),
        last: ArrayLike = (),
        touching: Flags = (),
        slipping: Flags = (),
    ) -> tuple[str, ...]:
        """Return the names of the tasks that no torque can change there, whatever the limits.

        Such as the pitch of a cart that stands on two wheels. They ask for something (weight > 0) and are not given it;
        levels below them keep all that they leave.
        """
        return unchangeable_tasks(self.layout, self.assemble(state, reference, last, touching, slipping))

    def inputs(self, u: FloatArray) -> FloatArray:
        """Return the model's inputs (n_u of the model,): torques `u`, and zero for prescribed bodies."""
        if len(self._driven) == self._inputs:
            return u
        inputs = np.zeros(self._inputs)
        inputs[self._driven] = u
        return inputs


def _unit(name: str, units: Mapping[str, str]) -> str:
    """Return the unit of an entry ``<task>.value``, ``.rate`` or ``.acceleration`` of a reference."""
    task, _, part = name.rpartition(".")
    unit = units.get(task, "")
    return {"value": unit, "rate": f"{unit}/s", "acceleration": f"{unit}/s^2"}.get(part, "") if unit else ""


def switch_contacts(
    terms: Terms, b: ca.SX, touching: ca.SX | None, compliance: ArrayLike | None, slipping: Slipping | None
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return J, b, G, D of  J nudot + D lam + b = 0; of a contact that is apart it reads lam = 0."""
    count, m = len(terms.split), terms.J.shape[0]
    on = ca.SX.ones(count) if touching is None else touching
    if on.shape != (count, 1):
        raise InputError("touching", on.shape, f"{count} symbols, one a contact")
    soft = np.zeros(count) if compliance is None else array("compliance", compliance, (count,))
    if touching is None and slipping is None and not np.any(soft):
        return terms.J, b, terms.J if terms.G is None else terms.G, ca.SX(m, m)
    J, slid = terms.J, ca.SX(m, m)
    G = J if terms.G is None else terms.G
    if slipping is not None:
        J, b, slid = slipping.rows(terms, b, on)
    sizes = [rows.stop - rows.start for rows in terms.split]

    def of_rows(of_contacts: ca.SX) -> ca.SX:
        """Repeat the value of each contact for all of its rows."""
        return ca.vertcat(ca.SX(0, 1), *(ca.repmat(of_contacts[i], size, 1) for i, size in enumerate(sizes)))

    on, D = of_rows(on), of_rows(1 - on + ca.SX(ca.DM(soft)))
    held = ca.diag(on) @ J
    return held, on * b, held if G is J else ca.diag(on) @ G, ca.diag(D) + slid


def _expressions(program: AssembledProgram, given: list[ca.SX], inputs: ca.SX) -> ca.Function:
    results = []
    for field in dataclasses.fields(program):
        value = getattr(program, field.name)
        results.append(ca.densify(value.T if field.name in ("A", "X", "T") else value))
    if inputs.shape[0]:
        results = ca.substitute(results, [inputs], [ca.SX.zeros(*inputs.shape)])
    results = ca.cse(results)
    names = [field.name for field in dataclasses.fields(program)]
    names_in = ["x", "reference", "last", "touching", "slipping"]
    try:
        return ca.Function("inverse_dynamics", given, results, names_in, names)
    except RuntimeError as error:
        raise InputError(
            "tasks", str(error).splitlines()[-1][:200], "expressions of the state and the reference"
        ) from error
