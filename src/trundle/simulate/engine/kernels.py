"""Kernels: what a kind of contact and a law are to the engine, as functions of packed kinematics.

A touch kernel maps the packed frames of both bodies (`pack_frame`) and the contact's coordinates to

    kinematics | rates of the coordinates | coordinates restored | point in A's frame | in B's frame | margins,

of which the brief one gives the first two parts, and another one margins alone. A law's kernels map kinematics, onset
(d + k,) and multipliers to its rows and to force, moment and margins. All are made of the expressions that planners and
linearisation use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.contact import Contact, Kinematics, OfKind, kinematics
from trundle.contact.law import Friction, Law
from trundle.contact.motion import Motion
from trundle.errors import CompileError
from trundle.numerics.compiled.cache import advise_once
from trundle.numerics.compiled.compile import (
    NativeFunction,
    compile_library,
    find_compiler,
    library_name,
    library_source,
)
from trundle.numerics.compiled.interpreter import InterpretedFunction, interpret_function
from trundle.numerics.space import angular_size, lever
from trundle.simulate.engine.lifted import Lifted, lift_constants
from trundle.threads import made_once

PLAIN, SLIPPING, DISTANT = range(3)
"""Variants of a contact's kinematics: what a law asks for."""
BRIEF, WHOLE, MARGINS = range(3)
"""What a touch kernel gives: see the module; as in mode_core.c."""
KINDS = 3
"""How many of them there are."""
_LARGEST = 20_000
"""Instructions up to which a function is compiled, which takes about half a second a thousand."""
_UNKNOWN = ("misalignment", "curvature", "sA", "sB", "rates", "shift")
"""What kernels of laws are not told."""


@dataclass(frozen=True)
class Kernel:
    """A kernel and the constants it is called with."""

    native: NativeFunction | InterpretedFunction
    numbers: FloatArray


NOTHING = np.zeros(0)


class NoKernelError(CompileError):
    """A function can neither be compiled nor be interpreted."""


class KernelStruct(ctypes.Structure):
    """Mirror of ``Kernel``."""

    _fields_ = [
        ("eval", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("mem", "n_arg", "n_res", "n_iw", "n_w")),
        ("numbers", ctypes.c_void_p),
    ]


def struct_of(kernel: Kernel) -> KernelStruct:
    """Return the C view of a kernel, which has to outlive it."""
    native = kernel.native
    return KernelStruct(native.address, native.memory, *native.work_sizes, kernel.numbers.ctypes.data)


def compile_kernel(function: ca.Function) -> Kernel:
    """Return the kernel of a function of one dense result, see `KernelKind`."""
    return KernelKind(function).kernel()


class KernelKind:
    """A function of one dense result as kernels; functions of one kind are compiled once a machine (final).

    Without a compiler it is interpreted, as one is that takes too long to compile or that the compiler gives up;
    `NoKernelError` is raised where it calls others, as measured surfaces do.

    Parameters
    ----------
    function : casadi.Function
    given : int
        How many numbers each kernel is given: its last input, if there are any.
    """

    def __init__(self, function: ca.Function, given: int = 0) -> None:
        if find_compiler() is not None:
            found = lift_constants(function, given)
            try:
                native = _native(function.name(), found.kind, _Made(found))
            except CompileError as error:
                native = None
                advise_once(f"kernel {found.kind}", f"{error}: it is interpreted, which is slower")
            if native is not None:
                self._native, self._constants = native, found.numbers
                return
        data = interpret_function(function)
        if data is None:
            raise NoKernelError(f"{function.name()} needs a C compiler")
        self._native, self._constants = data, np.zeros(1)

    def kernel(self, given: FloatArray = NOTHING) -> Kernel:
        """Return the kernel with the numbers that it is given."""
        return Kernel(self._native, np.concatenate([given, self._constants]))


class _Made:
    """A lifted function beside its kind, in the key of what is compiled once: all of one kind are equal."""

    def __init__(self, found: Lifted) -> None:
        self.found = found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Made) and other.found.kind == self.found.kind

    def __hash__(self) -> int:
        return hash(self.found.kind)


@cache
def _native(name: str, kind: str, made: _Made) -> NativeFunction | None:
    label = f"kernel_{name}"

    def source() -> str:
        _, text = library_source({label: made.found.function}, dense=True, digest=kind)
        return text

    small = made.found.function.n_instructions() <= _LARGEST
    path = compile_library(f"trundle_{label}", source, identity=f"{label} {kind}", build=small)
    return None if path is None else NativeFunction(path, library_name(label, kind))


def pack_frame(motion: Motion) -> ca.SX:
    """Return a frame as kernels take it: R (columns), p, w, v, al, a."""
    return ca.densify(ca.vertcat(ca.vec(ca.densify(motion.R)), motion.p, motion.w, motion.v, motion.al, motion.a))


def _frame(d: int, name: str) -> tuple[ca.SX, Motion]:
    """Return symbols of a packed frame, and the motion made of them, without Jacobians."""
    k = angular_size(d)
    ends = np.cumsum([0, d * d, d, k, d, k, d]).tolist()
    symbol = ca.SX.sym(name, ends[-1])
    R, p, w, v, al, a = ca.vertsplit(symbol, ends)
    return symbol, Motion(ca.reshape(R, d, d), p, w, v, ca.SX(k, 0), ca.SX(d, 0), al, a)


@dataclass(frozen=True)
class Packing:
    """Where the parts of packed kinematics are."""

    slices: Mapping[str, slice]
    size: int


@lru_cache(maxsize=2)
def packing(d: int) -> Packing:
    """Return the places of kinematics in dimension `d`."""
    k, at, found = angular_size(d), 0, {}
    sizes = {"rA": d, "rB": d, "frame": d * d, "vrel": d, "bias": d, "ndot": d}
    sizes |= {"wrel": k, "alrel": k, "wB": k, "gap": d}
    for name, size in sizes.items():
        found[name] = slice(at, at + size)
        at += size
    return Packing(found, at)


def _pack(k: Kinematics, rA: ca.SX, rB: ca.SX) -> ca.SX:
    frame = ca.vec(ca.densify(k.frame))
    return ca.vertcat(rA, rB, frame, k.vrel, k.bias, k.ndot, k.wrel, k.alrel, k.wB, k.gap)


@lru_cache(maxsize=2)
def _unpack_symbols(d: int) -> tuple[ca.SX, Kinematics, ca.SX]:
    """Return symbols of packed kinematics, the kinematics made of them, and symbols of what is not told."""
    places = packing(d)
    symbol = ca.SX.sym("kinematics", places.size)
    part = {name: symbol[where] for name, where in places.slices.items()}
    unknown = {name: ca.SX.sym(name, size) for name, size in zip(_UNKNOWN, (d - 1, 1, d, d, d, d), strict=True)}
    told = Kinematics(
        LA=ca.horzcat(lever(part["rA"]), ca.SX.eye(d)),
        LB=ca.horzcat(lever(part["rB"]), ca.SX.eye(d)),
        bias=part["bias"],
        vrel=part["vrel"],
        ndot=part["ndot"],
        gap=part["gap"],
        frame=ca.reshape(part["frame"], d, d),
        wrel=part["wrel"],
        alrel=part["alrel"],
        wB=part["wB"],
        **unknown,
    )
    return symbol, told, ca.vertcat(*unknown.values())


OPTIONS = {PLAIN: {}, SLIPPING: {"slipping": True}, DISTANT: {"slipping": True, "distant": True}}


class TouchKind:
    """Kernels of all contacts of one kind, each made when it is asked for (final).

    Attributes
    ----------
    margins : tuple of str
        Names of the margins that the touch alone has: ``gap``, ``curvature`` and the contact's limits.
    beyond : set of str
        Those of them that the contact does not know.

    Parameters
    ----------
    kind : OfKind
    more : mapping of str -> scalar
        Further margins, functions of the point on B, `on_B_symbol`.
    align : float, 1/s
        Feedback on the misalignment of contact coordinates.
    """

    def __init__(self, kind: OfKind, more: Mapping[str, ca.SX], align: float = 0.0) -> None:
        d = kind.contact.d
        self._kind, self._contact, self._more, self._align = kind, kind.contact, more, align
        self._frame_A, self._A = _frame(d, "A")
        self._frame_B, self._B = _frame(d, "B")
        self._s = ca.SX.sym("s", self._contact.size)
        self._made: dict[tuple[int, int], KernelKind] = {}
        self.margins = (*self._name_fields(self._kinematics(PLAIN)), *more)
        self.beyond = frozenset(more)

    def _kinematics(self, variant: int) -> Kinematics:
        return kinematics(self._contact, self._A, self._B, self._s, align=self._align, **OPTIONS[variant])

    def _name_fields(self, k: Kinematics) -> dict[str, ca.SX]:
        limits = self._contact.limits(self._A, self._B, self._s)
        return {"gap": k.distance, **limits} | ({} if k.curvature is None else {"curvature": k.curvature})

    def kernel(self, variant: int, what: int, numbers: FloatArray) -> Kernel:
        """Return the kernel of a variant that gives `BRIEF`, `WHOLE` or `MARGINS`."""
        return made_once(self._made, (variant, what), lambda: self._compile_variant(variant, what)).kernel(numbers)

    def _compile_variant(self, variant: int, what: int) -> KernelKind:
        tA, tB = self._contact.touch(self._A, self._B, self._s)
        k = self._kinematics(variant)
        told = [] if what == MARGINS else [_pack(k, tA.r, tB.r), k.rates]
        on_A, on_B = self._A.R.T @ tA.r, self._B.R.T @ tB.r
        if what == WHOLE:
            told += [self._contact.restore(self._s + k.shift), on_A, on_B]
        if what != BRIEF:
            beyond = [ca.substitute([value], [on_B_symbol(k.n.shape[0])], [on_B])[0] for value in self._more.values()]
            told += [*self._name_fields(k).values(), *beyond]
        numbers = self._kind.symbols
        given = [numbers] if numbers.shape[0] else []
        return KernelKind(_function("touch", [self._frame_A, self._frame_B, self._s, *given], told), numbers.shape[0])


@dataclass(frozen=True, eq=False)
class TouchKernels:
    """Kernels of a contact: those of its kind with its numbers."""

    kind: TouchKind
    numbers: FloatArray

    @classmethod
    def of(cls, contact: Contact) -> TouchKernels:
        """Return the kernels of a contact that is a kind of its own."""
        kind = OfKind(contact, ca.SX(0, 1), NOTHING, None)
        return cls(TouchKind(kind, {}), kind.numbers)

    @property
    def margins(self) -> tuple[str, ...]:
        """Names of the margins that the touch alone has."""
        return self.kind.margins

    def kernel(self, variant: int, what: int) -> Kernel:
        """Return the kernel of a variant that gives `BRIEF`, `WHOLE` or `MARGINS`."""
        return self.kind.kernel(variant, what, self.numbers)


@lru_cache(maxsize=2)
def on_B_symbol(d: int) -> ca.SX:  # noqa: N802
    """Return the symbol (d,) of the contact point in B's frame, of which further margins are functions."""
    return ca.SX.sym("on_B", d)


@dataclass(frozen=True)
class LawKernels:
    """Kernels of a law with its friction.

    Attributes
    ----------
    rows, after : Kernel
    cones : Kernel, or None
        Of the cones of the multipliers: coefficients and offset of each of their entries, see `Cone`; None: there are
        none.
    cone_sizes : tuple of int
    count : int
        Rows.
    pushed : bool
        Whether multipliers push along other directions than the rows.
    applies : bool
        Whether the state alone gives a force.
    margins : tuple of str
    """

    rows: Kernel
    after: Kernel
    cones: Kernel | None
    cone_sizes: tuple[int, ...]
    count: int
    pushed: bool
    applies: bool
    margins: tuple[str, ...]


def law_kernels(d: int, law: Law, friction: Friction, onset: ca.SX) -> LawKernels | None:
    """Return the kernels of a law in which `onset` (d + k,) stands for the directions of what is still zero.

    None: it asks for kinematics that kernels are not told, or for a compiler that is not there.
    """
    symbol, k, unknown = _unpack_symbols(d)
    rows = law.rows(k, friction)
    lam = ca.SX.sym("lam", rows.b.shape[0])
    force, moment = law.wrench(k, lam, friction)
    margins = law.margins(k, lam, friction)
    parts = [*map(_by_rows, (rows.LA, rows.LB)), rows.b, rows.velocity, rows.position]
    if rows.GA is not None and rows.GB is not None:
        parts += map(_by_rows, (rows.GA, rows.GB))
    if rows.applied is not None:
        parts += [*_at_frames(k, rows.applied), ca.SX(1, 1) if rows.stored is None else rows.stored]
    after = [force, moment, *margins.values()]
    cones = [ca.vertcat(cone.load, cone.across) for cone in law.cones(k, lam, friction).values()]
    if ca.depends_on(ca.vertcat(*parts, *after, *cones), unknown):
        return None
    try:
        compiled_rows = compile_kernel(_function("rows", [symbol, onset], parts))
        compiled_after = compile_kernel(_function("after", [symbol, onset, lam], after))
        compiled_cones = (
            compile_kernel(_function("cones", [symbol, onset], _coefficients(cones, lam))) if cones else None
        )
    except NoKernelError:
        return None
    return LawKernels(
        rows=compiled_rows,
        after=compiled_after,
        cones=compiled_cones,
        cone_sizes=tuple(cone.shape[0] for cone in cones),
        count=lam.shape[0],
        pushed=rows.GA is not None,
        applies=rows.applied is not None,
        margins=tuple(margins),
    )


def _coefficients(cones: Sequence[ca.SX], lam: ca.SX) -> list[ca.SX]:
    """Return, for each entry of expressions that are affine in `lam`, its coefficients and its value at zero."""
    entries = ca.vertcat(*cones)
    offset = ca.substitute(entries, lam, ca.SX.zeros(*lam.shape))
    return [_by_rows(ca.horzcat(ca.jacobian(entries, lam), offset))]


def _by_rows(matrix: ca.SX) -> ca.SX:
    return ca.vec(ca.densify(matrix).T)


def _at_frames(k: Kinematics, applied: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return moment and force at the origins of both frames, of those on A at its contact point and their opposite."""
    size = k.wrel.shape[0]
    moment, force = applied[:size], applied[size:]
    on_A, on_B = k.LA.T @ force, k.LB.T @ force
    on_A[:size] += moment
    on_B[:size] += moment + lever(k.gap).T @ force
    return on_A, on_B


def _function(name: str, inputs: list[ca.SX], results: list[ca.SX]) -> ca.Function:
    return ca.Function(name, inputs, [ca.densify(ca.vertcat(*map(ca.densify, results)))], {"cse": True})
