"""The stepping core in C (`ode_core.c`): its struct, its library and the run of one integration."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.interrupts import check, hold_interrupts, opened
from trundle.numerics.compiled.buffered import BufferedCall, dense
from trundle.numerics.compiled.compile import NativeFunction, check_layout, load_core
from trundle.numerics.compiled.interpreter import InterpretedFunction
from trundle.numerics.ode.tableaus import Tableau, tableau

SLICE_SECONDS = 0.1  # s between looks for Ctrl-C
_EVALUATE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_void_p)] * 2, *[ctypes.c_void_p] * 2, ctypes.c_int)
Addresses = Sequence[int]
RUNNING, DONE, EVENT, STEP_TOO_SMALL, TOO_MANY_STEPS, NOT_FINITE = range(6)
WAITING, ARMED, UNWATCHED = range(3)


class CallStruct(ctypes.Structure):
    """Mirror of ``Call``."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("eval", "arg", "res", "iw", "w")] + [("mem", ctypes.c_longlong)]


def _fields(kind: type, names: str) -> list[tuple[str, type]]:
    return [(name, kind) for name in names.split()]


class OdeStruct(ctypes.Structure):
    """Mirror of ``Ode``, field by field."""

    _fields_ = [
        *_fields(ctypes.c_longlong, "stages extra dense_rows error_rows"),
        *_fields(ctypes.c_void_p, "A b c E A_extra c_extra D"),
        ("error_exponent", ctypes.c_double),
        *_fields(ctypes.c_longlong, "n m"),
        *_fields(CallStruct, "rate margins projection"),
        ("p", ctypes.c_void_p),
        *_fields(ctypes.c_double, "t0 t1 step first_step relative_tolerance min_step max_step slice_seconds"),
        *_fields(ctypes.c_void_p, "absolute_tolerance arming_tolerance"),
        *_fields(ctypes.c_longlong, "max_steps points sample_count"),
        *_fields(ctypes.c_void_p, "sample_times samples"),
        *_fields(ctypes.c_double, "t h_next h_last error_last"),
        *_fields(ctypes.c_void_p, "x x_new x_dense K F trial g g_trial g_min armed"),
        *_fields(ctypes.c_longlong, "steps rejected evaluations reached status event"),
        *_fields(ctypes.c_longlong, "after_reject pressed approaches near_zero"),
    ]


class BatchStruct(ctypes.Structure):
    """Mirror of ``Batch``, field by field."""

    _fields_ = [
        *_fields(ctypes.c_longlong, "runs pieces inputs_count parameters inputs_stride gains_stride reference_stride"),
        *_fields(ctypes.c_void_p, "ends inputs gains reference low high armed most"),
        *_fields(ctypes.c_void_p, "x p samples held margin_minimum t next status event piece counts"),
    ]


class OdeCore:
    """The loaded stepping core.

    Parameters
    ----------
    library : ctypes.CDLL
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        check_layout(self.library, {"trundle_ode_size": OdeStruct, "trundle_batch_size": BatchStruct})
        for name in ("trundle_ode_start", "trundle_ode_run"):
            self.library[name].argtypes = [ctypes.POINTER(OdeStruct)]
            self.library[name].restype = None
        self.start = self.library["trundle_ode_start"]
        self.run = self.library["trundle_ode_run"]
        self.batch = self.library["trundle_ode_batch"]
        self.batch.argtypes = [ctypes.POINTER(OdeStruct), ctypes.POINTER(BatchStruct), *[ctypes.c_longlong] * 2]
        self.batch.restype = None


def core_library() -> OdeCore | None:
    """Return the stepping core, or None where it did not come with the package and there is no compiler."""
    library = load_core("trundle.numerics.ode", "ode_core")
    return None if library is None else _core(library)


@lru_cache(maxsize=4)
def _core(library: ctypes.CDLL) -> OdeCore:
    return OdeCore(library)


def call_struct(native: Callee | None, work: int = 0) -> CallStruct:
    """Return the C view of a compiled function, or of a missing one; its work memory begins at the address `work`."""
    if native is None:
        return CallStruct()
    starts = accumulate(native.work_sizes[:-1], lambda address, words: address + 8 * words, initial=work)
    return CallStruct(native.address, *starts, native.memory)


def work_memory(natives: Iterable[Callee | None]) -> list[FloatArray]:
    """Return an array for each function, which holds all that one call at a time needs."""
    return [np.zeros(sum(native.work_sizes) if native else 0) for native in natives]


class CalledBackFunction:
    """A function (t, x, p) of CasADi's virtual machine as C can call it, through Python; for one run.

    Attributes are those of `NativeFunction`. Only what calls other functions, as measured surfaces do, needs it.
    """

    work_sizes = (3, 1, 0, 0)
    memory = 0

    def __init__(self, function: ca.Function) -> None:
        f = dense(function)
        inputs, result = [np.zeros(f.numel_in(i)) for i in range(3)], np.zeros(f.numel_out(0))
        call = BufferedCall(f, inputs, [result])
        places = [(i, value.ctypes.data, value.nbytes) for i, value in enumerate(inputs) if value.size]
        source, size = result.ctypes.data, result.nbytes
        self.error: BaseException | None = None

        def _evaluate(arg: Addresses, res: Addresses, iw: int, w: int, memory: int) -> int:
            try:
                for i, place, bytes_ in places:
                    ctypes.memmove(place, arg[i], bytes_)
                call()
                ctypes.memmove(res[0], source, size)
            except BaseException as error:  # nothing is raised through C
                self.error = error
                return 1
            return int(call.failed)

        self._callback = _EVALUATE(_evaluate)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value


class NativeCallee(NamedTuple):
    """A function of a C library that keeps its own work memory, by the number of which it is told.

    ``lease`` gives that memory back when nobody holds it any more.
    """

    address: int
    memory: int
    lease: object
    work_sizes: tuple[int, int, int, int] = (3, 1, 1, 1)


Callee = NativeFunction | InterpretedFunction | CalledBackFunction | NativeCallee
Functions = tuple[Callee | None, ...]
"""Rate, margins and projection; the last two may be None."""


class FunctionSource(Protocol):
    """Where a run has its functions from."""

    def __call__(self) -> Functions:
        """Return those it begins with."""
        ...

    def count_evaluations(self, evaluations: int) -> Functions | None:
        """Be told how often the rate was evaluated since the last call; return what to go on with, or None."""
        ...


class NativeRun:
    """One integration in C, in slices of `SLICE_SECONDS`.

    Parameters
    ----------
    core : OdeCore
    source : FunctionSource
    method : Tableau
    points : int
        Inner points of a step at which margins are looked at.
    settings : dict
        Numbers of the struct by name.
    x0, p, absolute_tolerance, sample_times, armed : ndarray
    """

    def __init__(
        self,
        core: OdeCore,
        source: FunctionSource,
        method: Tableau,
        points: int,
        settings: dict[str, float],
        x0: FloatArray,
        p: FloatArray,
        absolute_tolerance: FloatArray,
        arming_tolerance: FloatArray,
        sample_times: FloatArray,
        armed: np.ndarray,
    ) -> None:
        n, m, rows = len(x0), len(armed), method.stages + 1 + method.extra
        self._core, self._source, self._method = core, source, method
        given = {"p": p, "absolute_tolerance": absolute_tolerance, "arming_tolerance": arming_tolerance}
        given |= {"sample_times": sample_times, "x": x0}
        shapes = {name: np.shape(value) for name, value in given.items()} | {
            "samples": (len(sample_times), n),
            **dict.fromkeys(("x_new", "x_dense", "trial"), (n,)),
            "K": (rows, n),
            "F": (3 + len(method.D), n),
            "g": (points + 2, m),
            **dict.fromkeys(("g_trial", "g_min"), (m,)),
        }
        self.state = OdeStruct(
            stages=method.stages,
            extra=method.extra,
            dense_rows=len(method.D),
            error_rows=len(method.E),
            error_exponent=method.error_exponent,
            n=n,
            m=m,
            points=points,
            sample_count=len(sample_times),
            slice_seconds=SLICE_SECONDS,
            t=settings["t0"],
            **_addresses(method.name),
            **settings,
        )
        self.arrays: dict[str, np.ndarray] = {"armed": np.array(armed, dtype=np.int64)}
        self.state.armed = self.arrays["armed"].ctypes.data
        for name, address in self._allocate(shapes).items():
            setattr(self.state, name, address)
        self._call(source())
        for name, value in given.items():
            self.arrays[name][...] = value

    def _allocate(self, shapes: dict[str, tuple[int, ...]]) -> dict[str, int]:
        """Lay all arrays of numbers out in one block, whose address is asked for once; return theirs."""
        block, addresses = np.zeros(sum(map(math.prod, shapes.values()))), {}
        start, position = block.ctypes.data, 0
        for name, shape in shapes.items():
            size = math.prod(shape)
            self.arrays[name] = block[position : position + size].reshape(shape)
            addresses[name] = start + 8 * position
            position += size
        return addresses

    def _call(self, functions: Functions) -> None:
        """Let the core call these functions, each with work memory of its own."""
        self._functions, sizes = functions, [sum(one.work_sizes) if one else 0 for one in functions]
        self._work = np.zeros(sum(sizes))
        self._called_back = [one for one in functions if isinstance(one, CalledBackFunction)]
        address = self._work.__array_interface__["data"][0]
        for role, one, size in zip(("rate", "margins", "projection"), functions, sizes, strict=True):
            setattr(self.state, role, call_struct(one, address))
            address += 8 * size

    def run(self, progress: Callable[[float], object] | None) -> bool:
        """Integrate to the end; False if the user interrupted."""
        if self._called_back:
            with hold_interrupts():
                return self._run(progress)
        return self._run(progress)

    def _run(self, progress: Callable[[float], object] | None) -> bool:
        state, counted = ctypes.byref(self.state), 0
        try:
            self._core.start(state)
            while self.state.status == RUNNING:
                self._core.run(state)
                for error in (one.error for one in self._called_back if one.error is not None):
                    raise error
                better = self._source.count_evaluations(self.state.evaluations - counted)
                counted = self.state.evaluations
                if better is not None and better is not self._functions:
                    self._call(better)
                if progress is not None:
                    with opened():
                        progress(self.state.t)
                if self.state.status == RUNNING:
                    check()
        except KeyboardInterrupt:
            return False
        return True


@lru_cache(maxsize=8)
def _addresses(method: str) -> dict[str, int]:
    """Addresses of a tableau's arrays, which live as long as the process."""
    coefficients = tableau(method)
    return {name: getattr(coefficients, name).ctypes.data for name in ("A", "b", "c", "E", "A_extra", "c_extra", "D")}
