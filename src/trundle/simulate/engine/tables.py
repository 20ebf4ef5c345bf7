"""Engine: the tables and kernels of a model, for all its contact modes at once."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence, Set
from functools import lru_cache

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.stops import JointStop
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import PROXIMAL
from trundle.numerics.compiled.compile import check_layout, load_core
from trundle.numerics.symbol import value_of
from trundle.simulate.engine.bodies import Bodies, Integers, integers
from trundle.simulate.engine.kernels import (
    OPTIONS,
    PLAIN,
    Kernel,
    KernelStruct,
    LawKernels,
    TouchKernels,
    compiled,
    packing,
    struct_of,
)


class EngineStruct(ctypes.Structure):
    """Mirror of ``Engine``."""

    _fields_ = [
        *(
            (name, ctypes.c_longlong)
            for name in "d k n nv trees contacts bodies_size top_at onset_at sign_at parameters total_s kernels".split()
        ),
        *(
            (name, ctypes.c_void_p)
            for name in "frame_at frame_J frame_tree frame_free tree_n tree_at tree_cols tree_M parent path_at path "
            "A B s_at s_size rate_at margins touch near stop".split()
        ),
        ("proximal", ctypes.c_double),
        ("reach", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        *((name, KernelStruct) for name in ("bodies", "rate", "moved", "nudge")),
        *((name, ctypes.c_longlong) for name in ("at_frame", "at_vrel", "at_gap", "at_rB")),
    ]


class Core:
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
        check_layout(self.library, {"mode_engine_size": EngineStruct, "mode_kernel_size": KernelStruct})
        self.new, self.free = alone["mode_new"], alone["mode_free"]
        self.outputs, self.nearest = self.library["mode_outputs"], self.library["mode_nearest"]

    def address(self, name: str) -> int:
        """Return the address of one of its functions."""
        return ctypes.cast(self.library[name], ctypes.c_void_p).value or 0


def core() -> Core | None:
    """Return the core, or None where it did not come with the package and there is no compiler."""
    library = load_core("trundle.simulate.engine", "mode_core")
    return None if library is None else _core(library)


@lru_cache(maxsize=2)
def _core(library: ctypes.CDLL) -> Core:
    return Core(library)


class Engine:
    """Tables and kernels of one model; its parameters p are inputs, onsets (d + k each) and signs.

    Parameters
    ----------
    core : Core
    model : TreeModel
    inputs : (n_i,)
        Symbols of the input parameters.
    u : (n_u,)
        The model's inputs as an expression of them and of the time.
    t : scalar
    touches : sequence of TouchKernels
        One a contact; those of one kind are the same.
    near : set of int
        Contacts whose nearest points are found in flight.
    reach : (contacts, 2) m
        Radii of balls about the frames of A and B that hold the shapes.
    """

    def __init__(
        self,
        core: Core,
        model: TreeModel,
        inputs: ca.SX,
        u: ca.SX,
        t: ca.SX,
        touches: Sequence[TouchKernels],
        near: Set[int],
        reach: FloatArray,
    ) -> None:
        self.core, self.model, self.touches, self.input_count = core, model, tuple(touches), inputs.shape[0]
        d, k, n = model.d, model.k, len(model.constraints)
        self.d, self.parameter_count = d, inputs.shape[0] + n * (d + k) + n
        self.laws: dict[Hashable, tuple[LawKernels, int, int] | None] = {}
        self._kernels: list[Kernel] = []
        self.structs: list[ctypes.Array[KernelStruct]] = []
        bodies = Bodies.of(model)
        self.functions = self._functions(inputs, u, t, bodies.told)
        self._tables = {**bodies.tables, **self._of_contacts(bodies, near)}
        self._reach = np.ascontiguousarray(reach, dtype=np.float64)
        places = packing(d)
        self.struct = EngineStruct(
            d=d,
            k=k,
            n=model.x.shape[0],
            nv=model.nv,
            trees=len(bodies.trees.columns),
            contacts=n,
            bodies_size=bodies.told.shape[0],
            top_at=bodies.top_at,
            onset_at=self.input_count,
            sign_at=self.input_count + n * (d + k),
            parameters=self.parameter_count,
            total_s=sum(one.contact.size for one in model.constraints),
            proximal=PROXIMAL,
            reach=self._reach.ctypes.data,
            **{name: struct_of(kernel) for name, kernel in self.functions.items()},
            **{name: table.ctypes.data for name, table in self._tables.items()},
            **{f"at_{name}": places.slices[name].start for name in ("frame", "vrel", "gap", "rB")},
        )
        self.near = self._tables["near"] >= 0
        self.mass = sum(value_of(body.mass) for body in model.bodies)
        carriers = [one.carrier for one in model.constraints]
        self.carriers = integers(carriers.index(name) for name in carriers)
        for contact in range(n):
            self.prepare(contact, PLAIN)
        self.loaded()

    def prepare(self, contact: int, variant: int) -> None:
        """Let the core know the kernels of a contact in a variant of its kinematics."""
        table, touch = self._tables["touch"].reshape(-1, len(OPTIONS), 2), self.touches[contact]
        if table[contact, variant, 0] >= 0:
            return
        numbers = [self.add(touch.kernel(variant, whole)) for whole in (False, True)]
        self.loaded()
        for i in (i for i, one in enumerate(self.touches) if one is touch):
            table[i, variant] = numbers

    def _of_contacts(self, bodies: Bodies, near: Set[int]) -> dict[str, Integers]:
        """Return the tables of the contacts: sides, coordinates, paths and kernels."""
        contacts, layout = self.model.constraints, self.model.layout
        sizes = [joined.contact.size for joined in contacts]
        begins = [layout[f"{joined.name}.coordinates"].start if joined.contact.size else 0 for joined in contacts]
        paths = [path for joined in contacts for path in bodies.paths(joined.A, joined.B)]
        return {
            "path_at": integers(np.cumsum([0, *map(len, paths)])),
            "path": integers(column for path in paths for column in path),
            "A": integers(bodies.frame[id(joined.A)] for joined in contacts),
            "B": integers(bodies.frame[id(joined.B)] for joined in contacts),
            "s_at": integers(begins),
            "s_size": integers(sizes),
            "rate_at": integers(np.cumsum([0, *sizes])[:-1]),
            "margins": integers(len(one.margins) for one in self.touches),
            "touch": integers([-1] * 2 * len(OPTIONS) * len(contacts)),
            "near": integers(self.add(one.near()) if i in near else -1 for i, one in enumerate(self.touches)),
            "stop": integers(int(isinstance(joined.contact, JointStop)) for joined in contacts),
        }

    def _functions(self, inputs: ca.SX, u: ca.SX, t: ca.SX, bodies: ca.SX) -> dict[str, Kernel]:
        """Return the kernels of the bodies, of the state's rate, and of poses and velocities that are moved."""
        model, nv = self.model, self.model.nv
        p = ca.SX.sym("p", self.parameter_count)
        told = {"t": ca.SX.sym("t"), "x": model.x}
        u_of = ca.Function("u_of", [t, inputs], [ca.densify(u)])(told["t"], p[: self.input_count])
        sizes = sum(one.contact.size for one in model.constraints)
        nudot, s_rate, step = ca.SX.sym("nudot", nv), ca.SX.sym("s_rate", sizes), ca.SX.sym("step", nv)
        rate = model.state_rate(nudot, [None] * len(model.constraints), s_rate)  # pyright: ignore[reportArgumentType]
        s = ca.vertcat(*(one.s for one in model.constraints))
        bodies, rate = ca.substitute([bodies, rate], [model.u], [u_of])
        made = {
            "bodies": ([told["t"], model.x, p], bodies),
            "rate": ([told["t"], model.x, p, nudot, s_rate], rate),
            "moved": ([model.x, step], model.moved(step)),
            "nudge": ([model.x, step], model.replaced(s, model.nu + step)),
        }
        return {
            name: compiled(ca.Function(name, given, [ca.densify(value)], {"cse": True}))
            for name, (given, value) in made.items()
        }

    def add(self, kernel: Kernel) -> int:
        """Return the number of a kernel among those that modes call."""
        self._kernels.append(kernel)
        return len(self._kernels) - 1

    def loaded(self) -> None:
        """Let the core see the kernels that were added; those that modes hold stay where they are."""
        structs = (KernelStruct * max(len(self._kernels), 1))(*map(struct_of, self._kernels))
        self.structs.append(structs)
        self.struct.kernel, self.struct.kernels = ctypes.addressof(structs), len(self._kernels)
