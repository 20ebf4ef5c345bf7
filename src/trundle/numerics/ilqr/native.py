"""The four operations of the real-time optimiser in C: `ilqr_core.c` on the stages' functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

from trundle.errors import CompileError
from trundle.numerics.compiled.compile import (
    NativeFunction,
    check_layout,
    compile_library,
    find_compiler,
    library_source,
    load_core,
)
from trundle.numerics.compiled.cores import CORE_FLAGS, core_sources
from trundle.numerics.compiled.interpreter import interpret_function
from trundle.numerics.ilqr.backend import Backend
from trundle.numerics.ilqr.stage import ControlProblem
from trundle.numerics.ode.native import Callee, CallStruct, call_struct, work_memory

FAST = ("-O3", "-march=native", "-fno-math-errno")
_NAMES = "p x u gap M g H g_end H_end k K dx du x_new u_new"


class CoreStruct(ctypes.Structure):
    """Mirror of ``Core``, field by field."""

    _fields_ = [
        *((name, CallStruct) for name in ("step", "slope", "end", "end_slope")),
        *((name, ctypes.c_longlong) for name in ("stages", "nx", "nu", "np")),
        *((name, ctypes.c_void_p) for name in _NAMES.split()),
        *((name, ctypes.c_double) for name in ("slope_along", "curvature", "gradient", "cost")),
    ]


class NativeBackend(Backend):
    """Stages and a Riccati recursion that C runs (final).

    Parameters
    ----------
    problem : ControlProblem
    library : ctypes.CDLL
        The core.
    functions : sequence of NativeFunction or InterpretedFunction
        Those of the problem, in their order.
    """

    name = "c"

    def __init__(self, problem: ControlProblem, library: ctypes.CDLL, functions: Sequence[Callee]) -> None:
        super().__init__(problem)
        self._functions, self._library = functions, library
        self._work = work_memory(functions)
        self._core = CoreStruct(
            *(call_struct(function, work.ctypes.data) for function, work in zip(functions, self._work, strict=True)),
            stages=self.stages,
            nx=problem.nx,
            nu=problem.nu,
            np=problem.n_p,
            **{name: getattr(self, name).ctypes.data for name in _NAMES.split()},
        )
        self._pointer = ctypes.byref(self._core)

    def measure(self) -> bool:
        """Evaluate every stage."""
        good = self._library.trundle_ilqr_measure(self._pointer)
        self.cost = self._core.cost
        return bool(good)

    def slope(self) -> bool:
        """Differentiate every stage."""
        return bool(self._library.trundle_ilqr_slope(self._pointer))

    def backward(self, rho: float) -> bool:
        """Run the recursion and look along its step."""
        good = self._library.trundle_ilqr_backward(self._pointer, rho)
        core = self._core
        self.slope_along, self.curvature, self.gradient = core.slope_along, core.curvature, core.gradient
        return bool(good)

    def roll(self, alpha: float) -> bool:
        """Roll out, stage after stage."""
        good = self._library.trundle_ilqr_roll(self._pointer, alpha)
        self.cost = self._core.cost
        return bool(good)


def native_backend(problem: ControlProblem) -> NativeBackend | None:
    """Return stages and core, compiled for this problem or, without a compiler, interpreted; None where they cannot be.

    The core that comes with the package takes any sizes; compiled for some it is twice as fast.
    """
    if find_compiler() is not None:
        names, source = library_source(dict(problem.functions), dense=True)
        stages = compile_library("trundle_ilqr_stages", source)
        if stages is not None:
            core = _compiled_core(problem.nx, problem.nu, problem.n_p)
            return NativeBackend(problem, core, [NativeFunction(stages, name) for name in names])
    built = load_core("trundle.numerics.ilqr", "ilqr_core")
    if built is None:
        return None
    functions = [data for one in problem.functions.values() if (data := interpret_function(one)) is not None]
    return NativeBackend(problem, _core(built), functions) if len(functions) == len(problem.functions) else None


@lru_cache(maxsize=32)
def _compiled_core(nx: int, nu: int, n_p: int) -> ctypes.CDLL:
    sources = core_sources(resources.files("trundle.numerics.ilqr"), "ilqr_core")
    sizes = (f"-DNX={nx}", f"-DNU={nu}", f"-DNP={n_p}")
    try:
        path = compile_library("trundle_ilqr_core", sources, flags=(*FAST, *sizes))
    except CompileError:  # a compiler that does not know this processor
        path = compile_library("trundle_ilqr_core", sources, flags=(*CORE_FLAGS, *sizes))
    return _core(ctypes.CDLL(str(path)))


@lru_cache(maxsize=32)
def _core(library: ctypes.CDLL) -> ctypes.CDLL:
    check_layout(library, {"trundle_ilqr_size": CoreStruct})
    for name in ("measure", "slope", "backward", "roll"):
        function = library[f"trundle_ilqr_{name}"]
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.POINTER(CoreStruct)]
        if name in ("backward", "roll"):
            function.argtypes = [*function.argtypes, ctypes.c_double]
        setattr(library, f"trundle_ilqr_{name}", function)
    return library
