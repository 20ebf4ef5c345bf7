"""CompiledMode: a contact mode as one expression, compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, Law
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.tree import TreeModel
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.ode.ode import AT_ONCE, Integrator, OdeSystem
from trundle.simulate.instant import ROWS, WHOLE, Instant
from trundle.simulate.mode import Method, Mode
from trundle.simulate.outputs import output_expressions
from trundle.simulate.phase import POINT, MotionPhase, input_expressions, touch_margins
from trundle.simulate.quantities import Quantities
from trundle.threads import cached_property

_MANY, _VERY_MANY = 200, 20_000
"""Samples from which the quantities of a record are worth compiling, where that is quick, and where it is not."""


class CompiledMode(MotionPhase):
    """One mode as one expression, compiled."""

    takes_numbers = True

    def __init__(self, system: ContactSystem, mode: Mode, held: bool, method: Method) -> None:
        self.system, self.mode, self.held, self.method = system, mode, held, method
        self.model: TreeModel = system.expressions(mode.atlas)
        self._t = ca.SX.sym("t")
        inputs, self._u = input_expressions(system, self.model, held, self._t)
        self.input_count = inputs.shape[0]
        n, d = len(mode.laws), self.model.d
        onsets, signs = ca.SX.sym("onset", d + self.model.k, n), ca.SX.sym("sign", n)
        self._kept = ca.vertcat([] if system.free is None else system.free.symbols, ca.vec(onsets), signs)
        self._p = ca.vertcat(inputs, self._kept)
        self._signs = signs
        self._laws = [self.law(i, onsets[:, i]) for i in range(n)]
        self._outputs: dict[bool, tuple[ca.Function, tuple[str, ...], list[int]]] = {}

    def on(self, system: ContactSystem) -> CompiledMode:
        """Return the same mode of the system with other free numbers; what is compiled is shared."""
        _ = self.integrator, self.watched
        other = copy(self)
        other.system = system
        return other

    # What follows is made when it is asked for: a mode that only lasts an instant needs little of it.

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations of motion of the mode."""
        gain = self.method.feedback
        return self.model.dynamics(self._laws, align=gain, baumgarte=gain, far=self.far)

    @cached_property
    def _margin_values(self) -> dict[str, ca.SX]:
        return self._margins(self.dynamics, self._signs)

    @property
    def margins(self) -> tuple[str, ...]:
        """Names ``<contact>.<margin>``, in the order of the integrator's margins."""
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._margin_values)

    @property
    def fused(self) -> CompiledMode:
        """Itself."""
        return self

    def margin_array(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return all margins (m,) at one state."""
        if self._margin_function is None:
            return np.zeros(0)
        return np.asarray(self._margin_function(t, x, p)).ravel()

    def margin_rows(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return all margins (N, m) at the states (N, n_x), at the time zero."""
        if self._margin_function is None:
            return np.zeros((len(x), 0))
        return np.asarray(self._margin_function(np.zeros((1, len(x))), x.T, p.T)).T

    @cached_property
    def equations(self) -> OdeSystem:
        """Rate, margins and projection."""
        moving = not any(name.endswith(".relative_velocity") for name in self.model.layout)
        projects = self.method.stabilization == "projection" and moving
        return OdeSystem(
            rate=self.function("rate", self.dynamics.xdot),
            margins=self._margin_function,
            projection=self.function("projection", self._projection(self._laws, self._signs)) if projects else None,
        )

    @property
    def integrator(self) -> Integrator:
        """What integrates the mode."""
        return self._integrator

    @cached_property
    def _integrator(self) -> Integrator:
        return Integrator(self.equations, method=self.method.name)

    @cached_property
    def _margin_function(self) -> ca.Function | None:
        return self.function("margins", ca.vertcat(*self._margin_values.values())) if self.margins else None

    def _projection(self, laws: Sequence[Law], signs: ca.SX) -> ca.SX:
        """The state on the constraints; as it is where a line or a face is passed: there the contact point jumps.

        A sign of zero: wherever it is.
        """
        projected, good = self.model.project(laws), ca.SX(1)
        for i, constraint in enumerate(self.model.constraints):
            roundness = self.dynamics.margins.get(f"{constraint.name}.roundness")
            if roundness is not None:
                good = ca.logic_and(good, ca.logic_or(signs[i] == 0, signs[i] * roundness > POINT))
        return projected if good.is_constant() else ca.if_else(good, projected, self.model.x)

    def instant(self, t: float, x: FloatArray, p: FloatArray, contacts: Sequence[int]) -> Instant:
        """Return the equations of motion at a state with all rows of these contacts; what the others do goes on."""
        laws = tuple(WHOLE.name if i in contacts else law for i, law in enumerate(self.mode.laws))
        key = ("instant", self.mode.atlas, laws, self.held)
        function = self.system.keep(key, lambda: self._instant_function(contacts))
        values = [np.asarray(value, dtype=np.float64) for value in function(t, x, p)]
        M, f, J, b, velocity, axes, held, push, held_b = values
        m, d = len(contacts), self.model.d
        shape = m, ROWS[d]
        return Instant(
            *(M, f.ravel(), J, b.reshape(shape), velocity.reshape(shape), axes.reshape(m, d, d)),
            *(held, push, held_b.ravel()),
        )

    def _instant_function(self, contacts: Sequence[int]) -> ca.Function:
        """(t, x, p) -> M, S u - h, J, b, velocity, axes of the contacts, and J, G, b of what holds both ways."""
        model = self.model
        terms = model.terms([WHOLE if i in contacts else law for i, law in enumerate(self._laws)], self.method.feedback)
        at = [row for i in contacts for row in range(terms.split[i].start, terms.split[i].stop)]
        others = [row for row in range(terms.J.shape[0]) if row not in set(at)]
        G = terms.J if terms.G is None else terms.G
        axes = [(model.to_world @ ca.horzcat(terms.kin[i].n, terms.kin[i].T)).T for i in contacts]
        return self.function(
            "instant",
            terms.M,
            terms.S @ model.u - terms.h,
            terms.J[at, :],
            terms.b[at],
            terms.velocity[at],
            ca.vertcat(*axes),
            terms.J[others, :],
            G[others, :],
            terms.b[others],
        )

    def _margins(self, dynamics: Dynamics, signs: ca.SX) -> dict[str, ca.SX]:
        margins: dict[str, ca.SX] = {}
        sign_of = {constraint.name: signs[i] for i, constraint in enumerate(self.model.constraints)}
        sizes = {constraint.name: constraint.contact.size for constraint in self.model.constraints}
        named = dynamics.margins
        for name, value in named.items():
            contact, margin = name.split(".", 1)
            if margin == "feature" and f"{contact}.within" in named:
                continue
            if margin == "gap" and sizes[contact] > 0:
                continue  # frozen coordinates know no gap: the watch finds the landing
            if margin == "roundness":
                value = sign_of[contact] * value
            if margin == "gap":
                value = self._or_behind(contact, value)
                if (value := self._or_face(contact, self._of_features(contact, value, named))) is None:
                    continue
            margins[name] = value - self.least(contact, margin)
        for constraint, contact_pair, law in zip(
            self.model.constraints, self.system.contact_pairs, self.mode.laws, strict=True
        ):
            if not LAWS[law].touching:
                continue
            _, side = constraint.contact.touch(constraint.A, constraint.B, constraint.s)
            named = touch_margins(contact_pair, constraint.B.R.T @ side.r)
            margins.update({f"{constraint.name}.{name}": value for name, value in named.items()})
        return margins

    def _of_features(self, contact: str, gap: ca.SX, named: Mapping[str, ca.SX]) -> ca.SX | None:
        """Return the least gap of all corners, edges and faces that are free to touch; None: the first of them has it.

        One that others touch in place of counts as open by how far its point is outside.
        """
        number = self.system.number(contact)
        if number not in self.system.beside:
            return gap
        together = self.free_features(number)
        if not together or number != together[0]:
            return None
        gaps = []
        for i in together:
            constraint, size = self.model.constraints[i], self.system.contact_pairs[i].shape_A.reference_length
            margin = constraint.contact.limits(constraint.A, constraint.B, constraint.s)["feature"]
            gaps.append(ca.fmax(named[f"{constraint.name}.gap"], (self.least_inside(i) - margin) * size))
        return ca.mmin(ca.vertcat(*gaps))

    def _or_face(self, contact: str, gap: ca.SX | None) -> ca.SX | None:
        """Return a gap that stays open for a rim that lies flat, and for points of its face where it does not.

        None: the rim touches, and its roundness tells when the face does.
        """
        number = self.system.number(contact)
        rim = self.system.rims.get(number, number)
        if rim not in self.system.faces or gap is None:
            return gap
        if rim != number and LAWS[self.mode.laws[rim]].touching:
            return None
        constraint = self.model.constraints[rim]
        roundness = constraint.contact.limits(constraint.A, constraint.B, constraint.s)["roundness"] - POINT
        return ca.fmax(gap, -roundness if rim == number else roundness)

    def _or_behind(self, contact: str, gap: ca.SX) -> ca.SX:
        """Return a gap that stays open while the contact is not far enough ahead of every closed one."""
        ahead = self.system.contact_pairs[self.system.number(contact)].ahead
        if ahead is None:
            return gap
        along = {
            one.name: (one.B.p + one.contact.touch(one.A, one.B, one.s)[1].r)[0]
            for one, law in zip(self.model.constraints, self.mode.laws, strict=True)
            if LAWS[law].touching or one.name == contact
        }
        here = along.pop(contact)
        for there in along.values():
            gap = ca.fmax(gap, ahead - (here - there))
        return gap

    def function(self, name: str, *expressions: ca.SX) -> ca.Function:
        """Return (t, x, p) -> expressions of the model's x and u."""
        if not self.held:
            plain = ca.Function(name, [self.model.x, self.model.u, self._kept], list(expressions))
            expressions = tuple(plain.call([self.model.x, self._u, self._kept]))
        arguments, dense = [self._t, self.model.x, self._p], [ca.densify(value) for value in expressions]
        function = ca.Function(name, arguments, dense)
        small = function.n_instructions() <= AT_ONCE  # of others it takes longer than all the rest and saves 3 %
        return ca.Function(name, arguments, dense, {"cse": True}) if small else function

    def outputs(self, t: FloatArray, x: FloatArray, p: FloatArray, forces: bool = True) -> Quantities:
        """Return the quantities of `output_expressions` at N samples: t (N,), x (N, n_x), p (N, n_p) -> (N, size).

        Without `forces`, which take long to make, forces and moments of contacts are zero.
        """
        if forces not in self._outputs:
            expressions = self._output_expressions(forces)
            function = self.function("outputs", ca.vertcat(*expressions.values()))
            least = _MANY if function.n_instructions() <= AT_ONCE else _VERY_MANY
            compiled = len(t) > least and self.integrator.compiled
            ends = [0, *np.cumsum([e.shape[0] for e in expressions.values()]).tolist()]
            self._outputs[forces] = compile_function(function) if compiled else function, tuple(expressions), ends
        function, names, ends = self._outputs[forces]
        values = np.asarray(function(t[None, :], x.T, p.T)).T
        return Quantities.of(values, names, ends)

    def _output_expressions(self, forces: bool) -> dict[str, ca.SX]:
        if forces:
            return output_expressions(
                self.model, self.dynamics, self.dynamics.forces, self.dynamics.moments, self.unseen
            )
        n, terms = len(self.mode.laws), self.model.terms(self._laws)
        none, unturned = (ca.SX(self.model.d, 1),) * n, (ca.SX(1, 1),) * n
        return output_expressions(self.model, terms, none, unturned, self.unseen)


def compiled_mode(system: ContactSystem, mode: Mode, held: bool, method: Method) -> CompiledMode:
    """Return a mode as one expression; systems that differ in their free numbers alone share what is compiled."""
    if system.free is None:
        return CompiledMode(system, mode, held, method)
    key = ("compiled mode", mode, held, method.name, method.stabilization, method.end_speed)
    return system.share(key, lambda: CompiledMode(system, mode, held, method)).on(system)


def project_state(phase: MotionPhase, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
    """Return the state `x` (n_x,) put onto the constraints of the phase's mode."""
    projects = phase.method.stabilization == "projection"
    projection = phase.integrator.system.projection if projects else None
    if projection is None:
        laws = [LAWS[name] for name in phase.mode.laws]
        model = phase.system.model(phase.mode.atlas)
        expression = model.project(laws)
        projection = ca.Function("projection", [ca.SX.sym("t"), model.x, model.u], [expression])
        p = np.zeros(model.u.shape[0])
    else:
        p = np.array(p)
        p[-len(phase.mode.laws) :] = 0.0  # signs of roundness: whatever they are
    return np.asarray(projection(t, x, p)).ravel()
