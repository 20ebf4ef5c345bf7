"""Engine: the tables and kernels of a model, for all its contact modes at once."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.law import Friction
from trundle.contact.stops import JointContact, JointFriction
from trundle.models.tree.loops import Pin
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import PROXIMAL, ContactConstraint
from trundle.numerics.compiled.compile import check_layout, load_core
from trundle.numerics.symbol import value_of
from trundle.simulate.engine.bodies import Bodies, Integers, integers
from trundle.simulate.engine.generated import body_functions
from trundle.simulate.engine.kernels import (
    KINDS,
    OPTIONS,
    Kernel,
    KernelStruct,
    LawKernels,
    TouchKernels,
    compile_kernel,
    packing,
    struct_of,
)
from trundle.simulate.engine.sweep import MIRRORS, KinematicSweep, can_sweep


class EngineStruct(ctypes.Structure):
    """Mirror of ``Engine``."""

    _fields_ = [
        *(
            (name, ctypes.c_longlong)
            for name in (
                *("d", "k", "n", "nv", "trees", "contacts", "pins", "bodies_size", "top_at", "onset_at", "sign_at"),
                *("parameters", "total_s", "kernels"),
            )
        ),
        *(
            (name, ctypes.c_void_p)
            for name in "frame_at frame_J frame_tree frame_free tree_n tree_at tree_cols tree_M parent path_at path "
            "A B s_at s_size rate_at margins touch near jointed rubs".split()
        ),
        ("proximal", ctypes.c_double),
        ("ball", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("sweep", ctypes.c_void_p),
        *((name, KernelStruct) for name in ("bodies", "rate", "moved", "nudge")),
        *((name, ctypes.c_longlong) for name in ("at_frame", "at_vrel", "at_gap", "at_rB")),
    ]


class TermStruct(ctypes.Structure):
    """Mirror of ``Term``: scale times a value of a contact, plus an offset."""

    _fields_ = [
        *((name, ctypes.c_longlong) for name in ("contact", "code", "index")),
        ("scale", ctypes.c_double),
        ("offset", ctypes.c_double),
    ]


class EngineCore:
    """The loaded core.

    Parameters
    ----------
    library : ctypes.CDLL
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        alone = ctypes.PyDLL(library._name)  # modes are made and forgotten by one thread at a time
        alone["mode_new"].restype = ctypes.c_longlong
        self.library["mode_nearest"].restype = ctypes.c_double
        mirrors = {"engine": EngineStruct, "kernel": KernelStruct, "term": TermStruct}
        check_layout(self.library, {f"mode_{name}_size": mirror for name, mirror in mirrors.items()} | MIRRORS)
        self.new, self.free = alone["mode_new"], alone["mode_free"]
        self.outputs, self.nearest = self.library["mode_outputs"], self.library["mode_nearest"]

    def address(self, name: str) -> int:
        """Return the address of one of its functions."""
        return ctypes.cast(self.library[name], ctypes.c_void_p).value or 0


def core() -> EngineCore | None:
    """Return the core, or None where it did not come with the package and there is no compiler."""
    library = load_core("trundle.simulate.engine", "mode_core")
    return None if library is None else _core(library)


@lru_cache(maxsize=2)
def _core(library: ctypes.CDLL) -> EngineCore:
    return EngineCore(library)


class Engine:
    """Tables and kernels of one model; its parameters p are inputs, free numbers, onsets (d + k each) and signs.

    Parameters
    ----------
    core : EngineCore
    model : TreeModel
    inputs : (n_i,)
        Symbols of the input parameters.
    u : (n_u,)
        The model's inputs as an expression of them and of the time.
    t : scalar
    touches : sequence of TouchKernels
        One a contact; those of one kind are the same.
    balls : mapping of int -> (4,) m
        Of contacts of two balls: the middle of A's in the frame of A (d of 3), both radii together.
    numbers : int
        How many free numbers there are; the model has their values.
    """

    def __init__(
        self,
        core: EngineCore,
        model: TreeModel,
        inputs: ca.SX,
        u: ca.SX,
        t: ca.SX,
        touches: Sequence[TouchKernels],
        balls: Mapping[int, FloatArray],
        numbers: int = 0,
    ) -> None:
        self.core, self.model, self.input_count = core, model, inputs.shape[0]
        d, k, n = model.d, model.k, len(model.constraints)
        pins = [
            ContactConstraint(f"pin {i}", loop.contact, loop.A, loop.B, ca.SX(0, 1), Friction(), f"pin {i}")
            for i, loop in enumerate(model.loops)
        ]
        self.joined = (*model.constraints, *pins)
        self.touches = (*touches, *[TouchKernels.of(Pin(d))] * len(pins))
        onset_at = inputs.shape[0] + numbers
        self.d, self.parameter_count = d, onset_at + n * (d + k) + n
        self.laws: dict[Hashable, tuple[LawKernels, int, int, int] | None] = {}
        self._kernels: list[Kernel] = []
        self.lock = threading.RLock()
        self.structs: list[ctypes.Array[KernelStruct]] = []
        bodies = Bodies.of(model, self.joined)
        self.sweep = KinematicSweep(bodies, inputs, u, t) if can_sweep(bodies) else None
        self.functions: dict[str, Kernel] = {}
        if self.sweep is None:
            made = body_functions(bodies, inputs, u, t, self.parameter_count)
            self.functions = {name: compile_kernel(function) for name, function in made.items()}
        self._tables = {**bodies.tables, **self._of_contacts(bodies, balls)}
        self._balls = np.zeros((max(len(self.joined), 1), 4))
        for contact, ball in balls.items():
            self._balls[contact] = ball
        places = packing(d)
        self.struct = EngineStruct(
            d=d,
            k=k,
            n=model.x.shape[0],
            nv=model.nv,
            trees=len(bodies.trees.columns),
            contacts=len(self.joined),
            pins=len(pins),
            bodies_size=bodies.size,
            top_at=bodies.top_at,
            onset_at=onset_at,
            sign_at=onset_at + n * (d + k),
            parameters=self.parameter_count,
            total_s=sum(one.contact.size for one in model.constraints),
            proximal=PROXIMAL,
            ball=self._balls.ctypes.data,
            sweep=None if self.sweep is None else ctypes.addressof(self.sweep.struct),
            **{name: struct_of(kernel) for name, kernel in self.functions.items()},
            **{name: table.ctypes.data for name, table in self._tables.items()},
            **{f"at_{name}": places.slices[name].start for name in ("frame", "vrel", "gap", "rB")},
        )
        self.near = self._tables["near"] > 0
        self.mass = sum(value_of(body.mass) for body in model.bodies)
        carriers = [one.carrier for one in self.joined]
        self.carriers = integers(carriers.index(name) for name in carriers)
        self.load_kernels()

    def prepare(self, contact: int, variant: int, *wanted: int) -> None:
        """Let the core know kernels of a contact in a variant of its kinematics: `BRIEF`, `WHOLE` or `MARGINS`."""
        with self.lock:
            for what in wanted:
                self._prepare(contact, variant, what)

    def _prepare(self, contact: int, variant: int, what: int) -> None:
        table, touch = self._tables["touch"].reshape(-1, len(OPTIONS), KINDS), self.touches[contact]
        if table[contact, variant, what] >= 0:
            return
        number = self.add(touch.kernel(variant, what))
        self.load_kernels()
        for i in (i for i, one in enumerate(self.touches) if one is touch):
            table[i, variant, what] = number

    def _of_contacts(self, bodies: Bodies, balls: Mapping[int, FloatArray]) -> dict[str, Integers]:
        """Return the tables of the contacts: sides, coordinates, paths and kernels."""
        contacts, layout = self.joined, self.model.layout
        sizes = [joined.contact.size for joined in contacts]
        begins = [layout[f"{joined.name}.coordinates"].start if joined.contact.size else 0 for joined in contacts]
        paths = [path for joined in contacts for path in bodies.paths(joined.A, joined.B)]
        return {
            "path_at": integers(np.cumsum([0, *map(len, paths)])),
            "path": integers(column for path in paths for column in path),
            "A": integers(bodies.number[id(joined.A)] for joined in contacts),
            "B": integers(bodies.number[id(joined.B)] for joined in contacts),
            "s_at": integers(begins),
            "s_size": integers(sizes),
            "rate_at": integers(np.cumsum([0, *sizes])[:-1]),
            "margins": integers(len(one.margins) for one in self.touches),
            "touch": integers([-1] * KINDS * len(OPTIONS) * len(contacts)),
            "near": integers(int(i in balls) for i in range(len(contacts))),
            "jointed": integers(int(isinstance(joined.contact, JointContact)) for joined in contacts),
            "rubs": integers(int(isinstance(joined.contact, JointFriction)) for joined in contacts),
        }

    def add(self, kernel: Kernel) -> int:
        """Return the number of a kernel among those that modes call."""
        with self.lock:
            self._kernels.append(kernel)
            return len(self._kernels) - 1

    def load_kernels(self) -> None:
        """Let the core see the kernels that were added; those that modes hold stay where they are."""
        with self.lock:
            if self.structs and self.struct.kernels == len(self._kernels):
                return
            structs = (KernelStruct * max(len(self._kernels), 1))(*map(struct_of, self._kernels))
            self.structs.append(structs)
            self.struct.kernel, self.struct.kernels = ctypes.addressof(structs), len(self._kernels)
