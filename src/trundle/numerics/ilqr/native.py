"""The four operations of the real-time optimiser, compiled: `ilqr_core.c` on the stages' functions."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib import resources
from pathlib import Path

from trundle.errors import CompileError
from trundle.numerics.compiled.compile import NativeFunction, check_layout, compile_library
from trundle.numerics.compiled.cores import core_sources
from trundle.numerics.ilqr.backend import Backend
from trundle.numerics.ilqr.stage import ControlProblem
from trundle.numerics.ode.native import CallStruct, call_struct, work_memory

FAST = ("-O3", "-march=native", "-fno-math-errno")
PLAIN = ("-O2", "-fno-math-errno")
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
    """Compiled stages and a compiled Riccati recursion (final)."""

    name = "c"

    def __init__(self, problem: ControlProblem, stages: Path, names: list[str]) -> None:
        super().__init__(problem)
        self._functions = functions = [NativeFunction(stages, name) for name in names]
        self._library = _core_library(problem.nx, problem.nu, problem.n_p)
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


@lru_cache(maxsize=32)
def _core_library(nx: int, nu: int, n_p: int) -> ctypes.CDLL:
    sources = core_sources(resources.files("trundle.numerics.ilqr"), "ilqr_core")
    sizes = (f"-DNX={nx}", f"-DNU={nu}", f"-DNP={n_p}")
    try:
        path = compile_library("trundle_ilqr_core", sources, flags=(*FAST, *sizes))
    except CompileError:  # a compiler that does not know this processor
        path = compile_library("trundle_ilqr_core", sources, flags=(*PLAIN, *sizes))
    library = ctypes.CDLL(str(path))
    check_layout(library, {"trundle_ilqr_size": CoreStruct})
    for name in ("measure", "slope", "backward", "roll"):
        function = library[f"trundle_ilqr_{name}"]
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.POINTER(CoreStruct)]
        if name in ("backward", "roll"):
            function.argtypes = [*function.argtypes, ctypes.c_double]
        setattr(library, f"trundle_ilqr_{name}", function)
    return library
