"""DataMode: a contact mode as numbers over the kernels of its model."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.law import Friction, Law
from trundle.contact.laws import LAWS, SEPARATED
from trundle.errors import CompileError, SimulationError
from trundle.geometry.queries.convex import ball_radius
from trundle.models.scales import slip_unit
from trundle.models.tree.multibody import INDEPENDENT, PROXIMAL
from trundle.models.tree.system import Atlas, ContactPair, ContactSystem
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.ode.native import Functions, NativeCallee
from trundle.numerics.ode.ode import Integrator
from trundle.numerics.ode.system import NativeSystem
from trundle.simulate.compiled_mode import CompiledMode, compiled_mode
from trundle.simulate.engine.bodies import integers
from trundle.simulate.engine.kernels import (
    BRIEF,
    DISTANT,
    MARGINS,
    PLAIN,
    SLIPPING,
    WHOLE,
    LawKernels,
    NoKernelError,
    TouchKernels,
    TouchKind,
    law_kernels,
    on_B_symbol,
    packing,
)
from trundle.simulate.engine.margins import NEAREST, named_margins
from trundle.simulate.engine.tables import Engine, EngineCore, TermStruct, core
from trundle.simulate.instant import ROWS, Instant
from trundle.simulate.instant import WHOLE as ALL_ROWS
from trundle.simulate.mode import Method, Mode
from trundle.simulate.outputs import body_expressions
from trundle.simulate.phase import MotionPhase, input_expressions, touch_margins
from trundle.simulate.quantities import OF_CONTACTS, Quantities
from trundle.status import Status
from trundle.threads import cached_property, made_once

UNBOUNDED = -2
"""In place of the number of a kernel of cones: of a law whose multipliers have no bounds."""
SMALL = 3
"""Contacts up to which modes are one expression each, but where contacts share a force: few of them, which last."""


def data_mode(system: ContactSystem, mode: Mode, held: bool, method: Method) -> DataMode | None:
    """Return a mode as data; None where the system has few contacts, or something that kernels cannot say."""
    if not system.keep("runs as data", lambda: _runs_as_data(system)):
        return None
    alone = len(system.contact_pairs) <= SMALL or system.free is not None or method.stabilization != "projection"
    if (alone and not _shares(system, mode)) or (loaded := core()) is None:
        return None
    if (engine := engine_of(system, mode.atlas, held, loaded, method.feedback)) is None:
        return None
    try:
        made = DataMode(system, mode, held, method, engine)
    except NoKernelError:
        return None
    return made if made.complete else None


def _shares(system: ContactSystem, mode: Mode) -> bool:
    """Return whether contacts of the same bodies roll, so that the motion does not say how they share their force.

    Dry friction of joints shares what it holds with all.
    """
    rolling = [sum(LAWS[mode.laws[i]].rolls for i in numbers) for numbers in system.between_two]
    return bool(system.rubbing) or max(rolling, default=0) > 1


def _runs_as_data(system: ContactSystem) -> bool:
    model, pairs = system.model(), system.contact_pairs
    if any(pair.ahead is not None for pair in pairs):
        return False
    plain = model.to_world.is_constant() and bool(np.array_equal(np.asarray(ca.DM(model.to_world)), np.eye(model.d)))
    minimal = any(name.endswith(".relative_velocity") for name in model.layout)
    return plain and not minimal


def engine_of(system: ContactSystem, atlas: Atlas, held: bool, core: EngineCore, align: float = 0.0) -> Engine | None:
    """Return the engine of a system on charts, made once; None where a kernel needs a compiler that is not there.

    ``align``: feedback (1/s) on the misalignment of contact coordinates.
    """

    def build() -> Engine | None:
        """Gather kernels of contacts, those of equal shapes once."""
        model, t = system.model(atlas), ca.SX.sym("t")
        inputs, u = input_expressions(system, model, held, t)
        kinds: dict[Hashable, TouchKind] = {}
        made: dict[Hashable, TouchKernels] = {}
        touches = []
        for joined, pair, charts in zip(model.constraints, system.contact_pairs, atlas, strict=True):
            kind = joined.contact.of_kind
            place = identity((pair.shape_B, pair.extent))
            shapes = (pair.form, pair.piece, charts, identity((pair.shape_A, pair.center_A, pair.joint)), place)
            key = shapes if kind.key is None else (pair.form, kind.key, place)
            if key not in kinds:
                kinds[key] = TouchKind(kind, touch_margins(pair, on_B_symbol(model.d)), align)
            touches.append(made_once(made, shapes, lambda key=key, kind=kind: TouchKernels(kinds[key], kind.numbers)))
        numbers = 0 if system.free is None else len(system.free.names)
        found = ((i, _two_balls(pair)) for i, pair in enumerate(system.contact_pairs))
        balls = {i: ball for i, ball in found if ball is not None}
        try:
            return Engine(core, model, inputs, u, t, touches, balls, numbers)
        except NoKernelError:
            return None

    return system.keep(("engine", atlas, held, align), build)


class DataMode(MotionPhase):
    """One mode: laws as numbers."""

    def __init__(self, system: ContactSystem, mode: Mode, held: bool, method: Method, engine: Engine) -> None:
        self.system, self.mode, self.held, self.method, self.engine = system, mode, held, method, engine
        self.model, self.input_count = engine.model, engine.input_count
        with engine.lock:
            self._kernels = [self._law_kernels(i) for i in range(len(mode.laws))]
            self._kernels += [self._kernels_of_loop(loop.law) for loop in self.model.loops]
        for contact, law in enumerate(mode.laws):
            if LAWS[law] is not SEPARATED:
                engine.prepare(contact, _variant(LAWS[law]), BRIEF, WHOLE)
        for contact in range(len(mode.laws), len(engine.joined)):
            engine.prepare(contact, PLAIN, BRIEF, WHOLE)  # pins and couplings
        separated = [LAWS[law] is SEPARATED for law in mode.laws]
        known = [one is not None for one in self._kernels[: len(separated)]]
        self.complete = all(apart or told for apart, told in zip(separated, known, strict=True))
        engine.load_kernels()
        self._named = named_margins(self, engine, [one and one[0] for one in self._kernels[: len(separated)]])
        self._names = tuple(self._named)
        terms = [term for groups in self._named.values() for group in groups for term in group]
        shown = {i for i in range(len(mode.laws)) if i not in self.unseen}
        for contact in shown:
            engine.prepare(contact, PLAIN, WHOLE)
        for contact in {term.contact for term in terms if term.source != NEAREST}:
            if LAWS[mode.laws[contact]] is SEPARATED:
                engine.prepare(contact, PLAIN, MARGINS)
        self.near = frozenset(term.contact for term in terms if term.source == NEAREST)
        self._idle: list[int] = []
        self._whole: dict[int, int] = {}

    def _law_kernels(self, contact: int) -> tuple[LawKernels, int, int, int] | None:
        """Return the kernels of a contact's law and their numbers in the engine; None: it has no rows and no force."""
        if LAWS[self.mode.laws[contact]] is SEPARATED:
            return None
        onset = ca.SX.sym("onset", self.model.d + self.model.k)
        law = self.law(contact, onset)
        friction = self.model.constraints[contact].friction

        def make_law_kernels() -> tuple[LawKernels, int, int, int] | None:
            found = law_kernels(self.model.d, law, friction, onset)
            return None if found is None else self._add_kernels(found)

        length, unit = self.system.contact_pairs[contact].shape_A.reference_length, slip_unit(self.system, contact)
        key = (self.mode.laws[contact], friction, length, unit, self.held, self.method.end_speed)
        return made_once(self.engine.laws, key, make_law_kernels)

    def _kernels_of_loop(self, law: Law) -> tuple[LawKernels, int, int, int] | None:
        """Return the kernels of the law of a pin or a coupling, which pushes whatever it takes."""
        d, onset = self.model.d, ca.SX.sym("onset", self.model.d + self.model.k)

        def make_loop_kernels() -> tuple[LawKernels, int, int, int] | None:
            found = law_kernels(d, law, Friction(), onset)
            return None if found is None else (*self._add_kernels(found)[:3], UNBOUNDED)

        return made_once(self.engine.laws, law.name, make_loop_kernels)

    def _add_kernels(self, found: LawKernels) -> tuple[LawKernels, int, int, int]:
        """Return the kernels of a law and their numbers in the engine."""
        add = self.engine.add
        return found, add(found.rows), add(found.after), -1 if found.cones is None else add(found.cones)

    def nearest(self, contact: int, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the coordinates of one of the contacts `near` where the two bodies are nearest."""
        given = [np.array([float(t)]), *(np.ascontiguousarray(value, dtype=np.float64) for value in (x, p))]
        found = np.zeros(self.model.constraints[contact].contact.size)
        lease = self.lease()
        numbers = (ctypes.c_longlong(number) for number in (lease.handle, contact))
        self.engine.core.nearest(*numbers, *map(_pointer, given), _pointer(found))
        return found

    @property
    def margins(self) -> tuple[str, ...]:
        """Names ``<contact>.<margin>``."""
        return self._names

    @property
    def fused(self) -> CompiledMode:
        """The mode as one expression."""
        return self._fused

    @cached_property
    def _fused(self) -> CompiledMode:
        return compiled_mode(self.system, self.mode, self.held, self.method)

    @property
    def integrator(self) -> Integrator:
        """What integrates the mode."""
        return self._integrator

    @cached_property
    def _integrator(self) -> Integrator:
        return Integrator(_System(self), method=self.method.name)

    def lease(self) -> Lease:
        """Return a mode of the core that nobody else uses, for as long as what is returned lives."""
        try:
            return Lease(self._idle, self._idle.pop())
        except IndexError:
            return Lease(self._idle, self._make_mode())

    def _make_mode(self) -> int:
        core, engine, n = self.engine.core, self.engine, len(self._kernels)
        given = np.zeros((10, max(n, 1)), dtype=np.int64)
        given[5:8] = -1
        given[9, list(self.unseen)] = 1
        cones: list[tuple[int, ...]] = [()] * n
        laws = [*(LAWS[law] for law in self.mode.laws), *(loop.law for loop in self.model.loops)]
        for i, (told, kernels) in enumerate(zip(laws, self._kernels, strict=True)):
            if kernels is not None:
                one, rows, after, shared = kernels
                cones[i] = one.cone_sizes
                size = self.model.d + 1 + len(one.margins)
                given[:5, i] = one.count, _variant(told), told.touching, one.pushed, one.applies
                given[5:9, i] = rows, after, shared, size
        margins = list(self._named.values())
        margin_at = integers(np.cumsum([0, *map(len, margins)]))
        group_at = integers(np.cumsum([0, *(len(group) for groups in margins for group in groups)]))
        terms = [term for groups in margins for group in groups for term in group]
        cone_at = integers(np.cumsum([0, *map(len, cones)]))
        cone_size = integers(size for sizes in cones for size in sizes)
        handle = core.new(
            ctypes.byref(engine.struct),
            _pointer(given),
            *map(_pointer, (cone_at, cone_size)),
            ctypes.c_longlong(len(margins)),
            _pointer(margin_at),
            _pointer(group_at),
            ctypes.byref((TermStruct * max(len(terms), 1))(*terms)),
            ctypes.c_double(PROXIMAL / engine.mass),
            ctypes.byref(ctypes.c_longlong(0 if self.model.loops else INDEPENDENT[self.model.d])),
            _pointer(engine.carriers),
            ctypes.c_longlong(packing(self.model.d).size),
            ctypes.c_double(self.method.feedback),
        )
        if not handle:
            raise SimulationError("no room for another contact mode: 65535 are in use", Status.FAILED)
        weakref.finalize(self, core.free, ctypes.c_longlong(handle))
        return handle

    def call(self, name: str, t: float, x: FloatArray, p: FloatArray, size: int) -> FloatArray:
        """Return the result (size,) of a function of the core at one state; NaN where it has none."""
        time, out = np.array([float(t)]), np.empty(size)
        given = [time, *(np.ascontiguousarray(value, dtype=np.float64) for value in (x, p))]
        arg = (ctypes.c_void_p * 3)(*(value.ctypes.data for value in given))
        res = (ctypes.c_void_p * 1)(out.ctypes.data)
        lease = self.lease()
        if self.engine.core.library[name](arg, res, None, None, ctypes.c_int(lease.handle)):
            out[:] = np.nan
        return out

    def margin_array(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return all margins (m,) at one state."""
        return self.call("mode_margins", t, x, p, len(self._named)) if self._named else np.zeros(0)

    def outputs(self, t: FloatArray, x: FloatArray, p: FloatArray, forces: bool = True) -> Quantities:
        """Return the quantities of `output_expressions` at N samples; see `MotionPhase.outputs`."""
        d, n, samples = self.model.d, len(self.mode.laws), len(t)
        values = np.zeros((samples, n, 6 * d + 3))
        given = [np.ascontiguousarray(value, dtype=np.float64) for value in (t, x, p)]
        lease = self.lease()
        failed = self.engine.core.outputs(
            *(ctypes.c_longlong(number) for number in (lease.handle, samples, np.shape(p)[1])),
            *map(_pointer, given),
            ctypes.c_int(int(forces)),
            _pointer(values),
        )
        if failed:
            values[:] = np.nan
        key = ("bodies' quantities", self.mode.atlas, self.held)
        function, names, ends = self.system.keep(key, self._body_outputs)
        seen = function.rows(given[0], given[1], given[2][:, : self.input_count])[0]
        at = np.cumsum([0, d, d, d, d, d, 1, 1, d])
        shown = [i for i in range(n) if i not in self.unseen]
        seen_contacts = values if len(shown) == n else values[:, shown]
        found = {what: seen_contacts[..., at[j] : at[j + 1]] for j, what in enumerate(OF_CONTACTS)}
        contacts = {self.model.constraints[i].name: place for place, i in enumerate(shown)}
        of_bodies = Quantities.of(seen, names, ends)
        energy = of_bodies.others["energy"] + values[..., -1].sum(axis=1, keepdims=True)
        return replace(of_bodies, contacts=contacts, of_contacts=found, others={**of_bodies.others, "energy": energy})

    def instant(self, t: float, x: FloatArray, p: FloatArray, contacts: Sequence[int]) -> Instant:
        """Return the equations of motion at a state with all rows of these contacts; what the others do goes on."""
        d, nv, m, K = self.model.d, self.model.nv, len(contacts), ROWS[self.model.d]
        asked, kernels = integers(contacts), integers(self._whole_kernel(i) for i in contacts)
        counts = [one[0].count for i, one in enumerate(self._kernels) if one is not None and i not in contacts]
        M, f, out = np.empty((nv, nv)), np.empty(nv), np.empty((m, K * nv + 2 * K + d * d))
        others = np.empty(sum(counts) * (2 * nv + 1))
        given = [np.array([float(t)]), *(np.ascontiguousarray(value, dtype=np.float64) for value in (x, p))]
        lease = self.lease()
        failed = self.engine.core.library["mode_terms"](
            ctypes.c_longlong(lease.handle),
            *map(_pointer, given),
            ctypes.c_longlong(m),
            *map(_pointer, (asked, kernels)),
            ctypes.c_longlong(K),
            *map(_pointer, (M, f, out, others)),
        )
        if failed:
            out[:] = np.nan
        J, b, velocity, frame = np.split(out, np.cumsum([K * nv, K, K]), axis=1)
        columns = frame.reshape(m, d, d)  # tangents, then the normal
        held, push, held_b = self._others(others, counts)
        return Instant(M, f, J.reshape(m * K, nv), b, velocity, np.roll(columns, 1, axis=1), held, push, held_b)

    def _others(self, numbers: FloatArray, counts: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return J, G (r, nv) and b (r,) of the rows of contacts, each of whose numbers follow each other."""
        nv, at = self.model.nv, 0
        parts = [(np.zeros((0, nv)), np.zeros((0, nv)), np.zeros(0))]
        for count in counts:
            J, G, b = np.split(numbers[at : at + count * (2 * nv + 1)], [count * nv, 2 * count * nv])
            parts.append((J.reshape(count, nv), G.reshape(count, nv), b))
            at += count * (2 * nv + 1)
        J, G, b = (np.concatenate(part) for part in zip(*parts, strict=True))
        return J, G, b

    def _whole_kernel(self, contact: int) -> int:
        """Return the number of the kernel of all rows of a contact, which is made ready for it."""
        return made_once(self._whole, contact, lambda: self._made_whole(contact))

    def _made_whole(self, contact: int) -> int:
        engine, d = self.engine, self.model.d
        friction = self.model.constraints[contact].friction

        def make_whole() -> tuple[LawKernels, int, int, int]:
            found = law_kernels(d, ALL_ROWS, friction, ca.SX.sym("onset", d + self.model.k))
            if found is None:
                raise CompileError("all rows of a contact ask for kinematics that kernels are not told")
            return self._add_kernels(found)

        engine.prepare(contact, SLIPPING, BRIEF)
        _, rows, _, _ = cast(
            "tuple[LawKernels, int, int, int]", made_once(engine.laws, (ALL_ROWS.name, friction), make_whole)
        )
        engine.load_kernels()
        return rows

    def _body_outputs(self) -> tuple[BufferedFunction, tuple[str, ...], list[int]]:
        model, t = self.model, ca.SX.sym("t")
        inputs, u = input_expressions(self.system, model, self.held, t)
        named = body_expressions(model)
        stacked = ca.densify(ca.vertcat(*named.values()))
        if not self.held:
            stacked = ca.substitute([stacked], [model.u], [ca.densify(u)])[0]
        function = ca.Function("bodies", [t, model.x, inputs], [stacked], {"cse": True})
        ends = np.cumsum([value.shape[0] for value in named.values()]).tolist()
        return BufferedFunction(function), tuple(named), [0, *ends]


class Lease:
    """The number of a mode of the core, in use; it goes back to those that are idle when this is forgotten (final)."""

    def __init__(self, idle: list[int], handle: int) -> None:
        self._idle, self.handle = idle, handle

    def __del__(self) -> None:
        self._idle.append(self.handle)


class _System(NativeSystem):
    """A mode as the stepping core takes it."""

    def __init__(self, phase: DataMode) -> None:
        self._phase = phase
        self.size, self.parameter_count = phase.model.x.shape[0], phase.engine.parameter_count
        self.margin_count = len(phase.margins)
        self.projects = phase.method.stabilization == "projection"

    def functions(self) -> Functions:
        """Return rate, margins and projection with work memory of their own."""
        lease, core = self._phase.lease(), self._phase.engine.core
        rate, margins, projection = (
            NativeCallee(core.address(f"mode_{name}"), lease.handle, lease)
            for name in ("rate", "margins", "projection")
        )
        return rate, margins if self.margin_count else None, projection if self.projects else None

    def rate(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return x' (n,)."""
        return self._phase.call("mode_rate", t, x, p, self.size)

    def margins(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the margins (m,)."""
        return self._phase.margin_array(t, x, p)

    def projection(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the state (n,) on its constraints."""
        return self._phase.call("mode_projection", t, x, p, self.size)


def _two_balls(pair: ContactPair) -> FloatArray | None:
    """Return the middle of A's ball in its frame and both radii together (4,), m; None: it is no contact of two."""
    radius_A, radius_B = ball_radius(pair.shape_A), ball_radius(pair.shape_B)
    if pair.form != "pair" or pair.joint is not None or radius_A is None or radius_B is None:
        return None
    return np.array([*(*pair.center_A, 0.0)[:3], radius_A + radius_B])


def identity(value: object) -> Hashable:
    """Return a key that is the same for values that are equal number by number."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(map(identity, value))
    if is_dataclass(value):
        return type(value), tuple(identity(getattr(value, field.name)) for field in fields(value))
    return value if isinstance(value, int | float | str | None) else id(value)


def _variant(law: Law) -> int:
    if law.distant:
        return DISTANT
    return SLIPPING if law.slipping else PLAIN


def _pointer(values: NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.ctypes.data)
