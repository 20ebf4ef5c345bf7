"""One contact mode of a system on given charts, compiled and ready to integrate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, SLIP_END, Law, Sliding, Sticking, normal_and_tangential
from trundle.geometry.queries.cloud import data_ranges
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.system import ContactPair, ContactSystem, least_curvature
from trundle.models.tree.tree import TreeModel
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.ode.ode import AT_ONCE, OFTEN, Integrator, OdeSystem
from trundle.simulate.force_distribution import distributed_forces
from trundle.simulate.mode import Method, Mode
from trundle.simulate.outputs import output_expressions
from trundle.threads import cached_property

BAUMGARTE = 10.0
"""Feedback (1/s) of ``stabilization="baumgarte"`` (theory, "Drift")."""

_INSIDE = 1e-9
"""How far inside the ends of measured data (in the units of its coordinates) a run stops: outside, nothing is known."""

_POINT = 1e-9
"""Roundness at which a run stops: at zero, the contact point is one of many."""

_BEYOND = 1e-7
"""Margin of a feature beside one that touches, from which it is across a hollow and not next to its point."""

_MANY = 200
"""Samples from which the quantities of a record are worth compiling, where that is quick."""

IGNORED = {"on_slip": ("friction", "torsion"), "on_separation": ("normal_force",)}


class CompiledMode:
    """Compiled equations of one mode.

    Parameters p of its functions: inputs (parameters of the motions, or the held input under a policy), free numbers
    of the system, then for each contact the directions (d + k,) of the slip and the turning while they are zero, then
    for each contact the sign of its roundness.

    Attributes
    ----------
    held : bool
        Whether the inputs are held between the calls of a policy.
    """

    def __init__(self, system: ContactSystem, mode: Mode, held: bool, method: Method) -> None:
        self.system, self.mode, self.held, self.method = system, mode, held, method
        self.model: TreeModel = system.expressions(mode.atlas)
        self._t = ca.SX.sym("t")
        inputs, self._u = self._inputs(held)
        self.input_count = inputs.shape[0]
        n, d = len(mode.laws), self.model.d
        onsets, signs = ca.SX.sym("onset", d + self.model.k, n), ca.SX.sym("sign", n)
        self._kept = ca.vertcat([] if system.free is None else system.free.symbols, ca.vec(onsets), signs)
        self._p = ca.vertcat(inputs, self._kept)
        self._signs = signs
        self._laws = [self._law(i, onsets[:, i]) for i in range(n)]
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
        gain = BAUMGARTE if self.method.stabilization == "baumgarte" else 0.0
        return self.model.dynamics(self._laws, align=gain, baumgarte=gain, far=self.far)

    @cached_property
    def far(self) -> frozenset[int]:
        """The contacts of corners, edges and faces of bodies that touch nowhere: looks at whole shapes see these."""
        found: set[int] = set()
        for numbers in self.system.pairs:
            if numbers[0] in self.system.beside and not self._touches(numbers):
                found.update(numbers)
        return frozenset(found)

    @cached_property
    def forces(self) -> tuple[ca.SX, ...]:
        """The forces (d,), N, on A of all contacts, resolved."""
        system = self.system
        flat = tuple(p for p in system.patches if system.contact_pairs[p[0]].form == "support")
        return distributed_forces(self.model, self.dynamics, self.mode.laws, system.pairs, flat)

    @cached_property
    def _margin_values(self) -> dict[str, ca.SX]:
        return self._margins(self.dynamics, self._signs)

    @cached_property
    def margins(self) -> tuple[str, ...]:
        """Names ``<contact>.<margin>``, in the order of the integrator's margins."""
        return tuple(self._margin_values)

    @cached_property
    def watched(self) -> NDArray[np.bool_]:
        """Which of the margins (m,) end the mode."""
        return np.array([self._watched(name) for name in self.margins], dtype=bool)

    @cached_property
    def integrator(self) -> Integrator:
        """What integrates the mode."""
        moving = not any(name.endswith(".relative_velocity") for name in self.model.layout)
        projects = self.method.stabilization == "projection" and moving
        return Integrator(
            OdeSystem(
                rate=self.function("rate", self.dynamics.xdot),
                margins=self._margin_function,
                projection=self.function("projection", self._projection(self._laws, self._signs)) if projects else None,
            ),
            method=self.method.name,
        )

    @cached_property
    def _margin_function(self) -> ca.Function | None:
        return self.function("margins", ca.vertcat(*self._margin_values.values())) if self.margins else None

    def _inputs(self, held: bool) -> tuple[ca.SX, ca.SX]:
        """Return the input parameters and u as an expression of them and of time."""
        model = self.model
        if held:
            return model.u, model.u
        u, parameters = ca.SX(model.u.shape[0], 1), []
        for name, motion in self.system.motions.items():
            symbol = ca.SX.sym(f"{name}.motion", motion.size)
            parameters.append(symbol)
            u[model.input_layout[f"{name}.twist_rate"]] = motion.rate(self._t, symbol)
        return ca.vertcat(*parameters), u

    def _projection(self, laws: Sequence[Law], signs: ca.SX) -> ca.SX:
        """The state on the constraints; as it is where a line or a face is passed: there the contact point jumps.

        A sign of zero: wherever it is.
        """
        projected, good = self.model.projected(laws), ca.SX(1)
        for i, constraint in enumerate(self.model.constraints):
            roundness = self.dynamics.margins.get(f"{constraint.name}.roundness")
            if roundness is not None:
                good = ca.logic_and(good, ca.logic_or(signs[i] == 0, signs[i] * roundness > _POINT))
        return projected if good.is_constant() else ca.if_else(good, projected, self.model.x)

    def _law(self, contact: int, onset: ca.SX) -> Law:
        """Return the law of a contact with what its mode knows of it; `onset` (d + k,)."""
        law, d = LAWS[self.mode.laws[contact]], self.model.d
        length = self.system.contact_pairs[contact].shape_A.reference_length
        slip, turning = self.model.to_world.T @ onset[:d], onset[d:]
        if d == 3:
            turning = self.model.to_world.T @ turning
        if isinstance(law, Sticking):
            return replace(law, onset=turning, length=length)
        if not isinstance(law, Sliding):
            return law
        # In the plane a slip crosses zero, and is seen to; in space one passed near zero stalls a run, policy or not.
        end = 0.0 if self.held and self.system.d == 2 else self.method.end_speed
        return replace(law, onset=slip, turning_onset=turning, end_speed=end, length=length)

    def _margins(self, dynamics: Dynamics, signs: ca.SX) -> dict[str, ca.SX]:
        margins: dict[str, ca.SX] = {}
        sign_of = {constraint.name: signs[i] for i, constraint in enumerate(self.model.constraints)}
        sizes = {constraint.name: constraint.contact.size for constraint in self.model.constraints}
        named = dynamics.margins | self._shared_margins()
        for name, value in named.items():
            contact, margin = name.split(".", 1)
            if margin == "gap" and sizes[contact] > 0:
                continue  # frozen coordinates know no gap: the watch finds the landing
            if margin == "roundness":
                value = sign_of[contact] * value
            if margin == "gap":
                value = self._or_behind(contact, value)
                if (value := self._or_face(contact, self._of_features(contact, value, named))) is None:
                    continue
            margins[name] = value - self._least(contact, margin)
        for constraint, contact_pair, law in zip(
            self.model.constraints, self.system.contact_pairs, self.mode.laws, strict=True
        ):
            if not LAWS[law].touching:
                continue
            _, side = constraint.contact.touch(constraint.A, constraint.B, constraint.s)
            on_B = constraint.B.R.T @ side.r
            for i, (axis, width) in enumerate(zip("xy", contact_pair.extent or (), strict=False)):
                margins[f"{constraint.name}.extent_{axis}"] = width / 2 - ca.fabs(on_B[i])
            margins.update(
                {f"{constraint.name}.{name}": value for name, value in _data_margins(contact_pair, on_B).items()}
            )
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

    def free_features(self, contact: int) -> list[int]:
        """Return the contacts of the same shape that may close, watched as the first: on waves also across a hollow."""
        free = [i for i in self.system.pair_of(contact) if not LAWS[self.mode.laws[i]].touching]
        return [i for i in free if not self._touches(self.system.in_place_of(i))]

    def least_inside(self, contact: int) -> float:
        """Return the margin from which a feature may close: more where the contact is about to pass onto it."""
        return _BEYOND if self._touches(self.system.beside.get(contact, ())) else 0.0

    def _touches(self, contacts: Sequence[int]) -> bool:
        return any(LAWS[self.mode.laws[k]].touching for k in contacts)

    def armed(self, unarmed: frozenset[str]) -> np.ndarray:
        """Return which margins (m,) may end the mode at once: not those of the names that are `unarmed`."""
        zero = unarmed | {self.watches(name) for name in unarmed if name.endswith(".gap")}
        return np.array([name not in zero and not name.endswith(SLIP_END) for name in self.margins], dtype=bool)

    def watches(self, gap: str) -> str:
        """Return the margin that watches a gap ``<contact>.gap``."""
        number = self.system.number(gap)
        free = self.free_features(number) if number in self.system.beside else []
        return f"{self.system.contact_pairs[free[0]].contact}.gap" if free else gap

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
        roundness = constraint.contact.limits(constraint.A, constraint.B, constraint.s)["roundness"] - _POINT
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

    def _shared_margins(self) -> dict[str, ca.SX]:
        """Normal forces and cone margins of two contacts that share their force."""
        shared: dict[str, ca.SX] = {}
        for i, (constraint, before, force) in enumerate(
            zip(self.model.constraints, self.dynamics.forces, self.forces, strict=True)
        ):
            if force is not before:
                f_n, f_t = normal_and_tangential(self.dynamics.kin[i], force)
                shared[f"{constraint.name}.normal_force"] = f_n
                shared[f"{constraint.name}.friction"] = constraint.friction.mu * f_n - f_t
        return shared

    def _least(self, contact: str, margin: str) -> float:
        """Value at which a margin ends the mode, where that is not zero."""
        if margin.startswith("data"):
            return _INSIDE
        if margin == "roundness":
            return _POINT
        if margin != "curvature":
            return 0.0
        number = self.system.number(contact)
        length = self.system.contact_pairs[number].shape_A.reference_length
        return least_curvature(self.model.constraints[number].contact, length)

    def _watched(self, name: str) -> bool:
        contact, margin, rules = self.system.number(name), name.split(".", 1)[1], self.system.rules
        if self.mode.rest:
            return False
        if (
            margin == "normal_force"
        ):  # even where pulling is ignored, a body lets go as long as another contact holds it
            holding = sum(LAWS[self.mode.laws[i]].touching for i in self.system.pair_of(contact))
            if holding > 1 or self.system.on_separation(contact) == "fly":
                return True
        return not any(getattr(rules, rule) == "ignore" and margin in margins for rule, margins in IGNORED.items())

    def function(self, name: str, *expressions: ca.SX) -> ca.Function:
        """Return (t, x, p) -> expressions of the model's x and u."""
        if not self.held:
            plain = ca.Function(name, [self.model.x, self.model.u, self._kept], list(expressions))
            expressions = tuple(plain.call([self.model.x, self._u, self._kept]))
        arguments, dense = [self._t, self.model.x, self._p], [ca.densify(value) for value in expressions]
        function = ca.Function(name, arguments, dense)
        small = function.n_instructions() <= AT_ONCE  # of others it takes longer than all the rest and saves 3 %
        return ca.Function(name, arguments, dense, {"cse": True}) if small else function

    def _unseen(self) -> list[int]:
        """Return pieces that do not touch while another one of their shape does: records show that one.

        Of those that are far records show where the whole shapes are nearest, in the place of the first.
        """
        on = [LAWS[law].touching for law in self.mode.laws]
        groups = [numbers for numbers in self.system.patches if any(on[i] for i in numbers)]
        pairs = self.system.contact_pairs
        beside = [i for numbers in groups for i in numbers[1:] if not on[i] and pairs[i].piece is not None]
        return [*beside, *(i for i in self.far if i != self.system.pair_of(i)[0])]

    def parameters(
        self, inputs: FloatArray, onsets: FloatArray | None = None, signs: Sequence[float] | FloatArray | None = None
    ) -> FloatArray:
        """Return p from the inputs, the onset directions (n, d + k) (default zero) and signs (n,) (default 1)."""
        n = len(self.mode.laws)
        directions = np.zeros((n, self.model.d + self.model.k)) if onsets is None else onsets
        numbers = np.zeros(0) if self.system.free is None else self.system.free.values
        return np.concatenate([inputs, numbers, directions.ravel(), np.ones(n) if signs is None else np.asarray(signs)])

    def margin_values(self, t: float, x: FloatArray, p: FloatArray) -> dict[str, float]:
        """Return all margins at one state."""
        if self._margin_function is None:
            return {}
        values = np.asarray(self._margin_function(t, x, p)).ravel()
        return dict(zip(self.margins, map(float, values), strict=True))

    def gap_values(self, t: float, x: FloatArray, p: FloatArray) -> dict[int, float]:
        """Return the gaps (m) of the contacts in flight, by number, where a margin knows them."""
        values = self.margin_values(t, x, p)
        names = {f"{pair.contact}.gap": i for i, pair in enumerate(self.system.contact_pairs)}
        return {names[name]: value for name, value in values.items() if name in names}

    def outputs(self, t: FloatArray, x: FloatArray, p: FloatArray, forces: bool = True) -> dict[str, FloatArray]:
        """Return the quantities of `output_expressions` at N samples: t (N,), x (N, n_x), p (N, n_p) -> (N, size).

        Without `forces`, which take long to make, forces and moments of contacts are zero.
        """
        if forces not in self._outputs:
            expressions = self._output_expressions(forces)
            function = self.function("outputs", ca.vertcat(*expressions.values()))
            least = _MANY if function.n_instructions() <= AT_ONCE else OFTEN
            compiled = len(t) > least and self.integrator.compiled
            ends = [0, *np.cumsum([e.shape[0] for e in expressions.values()]).tolist()]
            self._outputs[forces] = compile_function(function) if compiled else function, tuple(expressions), ends
        function, names, ends = self._outputs[forces]
        values = np.asarray(function(t[None, :], x.T, p.T)).T
        return {name: values[:, ends[i] : ends[i + 1]] for i, name in enumerate(names)}

    def _output_expressions(self, forces: bool) -> dict[str, ca.SX]:
        if forces:
            return output_expressions(self.model, self.dynamics, self.forces, self.dynamics.moments, self._unseen())
        n, terms = len(self.mode.laws), self.model.terms(self._laws)
        none, unturned = (ca.SX(self.model.d, 1),) * n, (ca.SX(1, 1),) * n
        return output_expressions(self.model, terms, none, unturned, self._unseen())


def _data_margins(contact_pair: ContactPair, on_B: ca.SX) -> dict[str, ca.SX]:
    """Distances (m) of a contact point on a measured graph to the ends of its data; charts know their own."""
    margins = {}
    if contact_pair.form != "chart":
        for i, r in enumerate(data_ranges(contact_pair.shape_B)):
            margins |= {f"data_B{i}_low": on_B[i] - r.low - _INSIDE, f"data_B{i}_high": r.high - on_B[i] - _INSIDE}
    return margins


def projected(phase: CompiledMode, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
    """Return the state `x` (n_x,) put onto the constraints of the phase's mode."""
    projection = phase.integrator.system.projection
    if projection is None:
        laws = [LAWS[name] for name in phase.mode.laws]
        model = phase.system.model(phase.mode.atlas)
        expression = model.projected(laws)
        projection = ca.Function("projection", [ca.SX.sym("t"), model.x, model.u], [expression])
        p = np.zeros(model.u.shape[0])
    else:
        p = np.array(p)
        p[-len(phase.mode.laws) :] = 0.0  # signs of roundness: whatever they are
    return np.asarray(projection(t, x, p)).ravel()
