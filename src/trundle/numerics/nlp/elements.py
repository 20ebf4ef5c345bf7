"""Elements: small functions repeated at many places of a large program, with their exact derivatives, compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

import casadi as ca
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trundle.checks import FloatArray, array
from trundle.errors import CompileError, InputError
from trundle.numerics.compiled.compile import compile_library, find_compiler, library_name, library_source
from trundle.numerics.compiled.tape import POINTS, tape_sources
from trundle.threads import cached_property

IntArray = NDArray[np.intp]

COMPILE_LIMIT = 20_000
"""Operations of an element above which it becomes a tape, unless asked: compiling takes longer than solving."""
_KEYS = ("value", "jacobian", "cost", "gradient", "hessian")


@dataclass(frozen=True, eq=False)
class ElementGroup:
    """One small function applied at N places: o_e = phi(z[index_e], p_e), e = 0 ... N-1 (final).

    Its outputs enter the constraints as B vec(o) and the cost as b' vec(o), vec(o) = (o_0, o_1, ...).

    Parameters
    ----------
    function : casadi.Function
        phi: w (nw,)[, p (np,)] -> o (no,); an SX function, or one that expands to SX; or one that solves
        equations (`casadi.rootfinder`), which is not compiled. Groups with the same function object share its
        derivatives and its compiled code.
    index : (N, nw) int
        Entries of z that are the w of each element; one entry may occur more than once.
    B : sparse (m, N no)
        Constraint rows of the outputs.
    b : (N no,), optional
        Weights of the outputs in the cost; zero by default.
    parameters : (N, np), optional
        Constants of each element.

    Raises
    ------
    InputError
        If the shapes do not fit or a number is not finite.
    """

    function: ca.Function
    index: IntArray
    B: sp.csc_matrix
    b: FloatArray | None = None
    parameters: FloatArray | None = None
    kernel: ElementKernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        f = self.function
        if not isinstance(f, ca.Function) or f.n_in() not in (1, 2) or f.n_out() != 1:
            raise InputError("function", f, "a casadi.Function of w, or of w and p, with one output")
        if any(f.size2_in(i) != 1 for i in range(f.n_in())) or f.size2_out(0) != 1:
            raise InputError("function", f, "a function of columns")
        index = np.array(self.index)
        if index.ndim != 2 or index.shape[1] != f.size1_in(0) or index.dtype.kind not in "iu":
            raise InputError("index", self.index, f"an array of N x {f.size1_in(0)} integers")
        if len(index) == 0 or index.min() < 0:
            raise InputError("index", self.index, "places (>= 0) of at least one element")
        wide, np_ = len(index) * f.size1_out(0), (f.size1_in(1) if f.n_in() == 2 else 0)
        parameters = np.zeros((len(index), 0)) if self.parameters is None else self.parameters
        B = sp.csc_matrix(self.B, dtype=float, copy=True)
        if B.shape[1] != wide or not np.all(np.isfinite(B.data)):
            raise InputError("B", B.shape, f"a matrix of m x {wide} finite numbers")
        B.sum_duplicates()
        B.eliminate_zeros()
        index.setflags(write=False)
        object.__setattr__(self, "index", index.astype(np.intp))
        object.__setattr__(self, "B", B)
        object.__setattr__(self, "b", array("b", np.zeros(wide) if self.b is None else self.b, (wide,)))
        object.__setattr__(self, "parameters", array("parameters", parameters, (len(index), np_)))
        rows = np.flatnonzero(np.diff(B.indptr)) % f.size1_out(0)
        costs = np.flatnonzero(self.weights) % f.size1_out(0)
        object.__setattr__(self, "kernel", _kernel(f, _unique(rows), _unique(costs), find_compiler() is not None))

    @property
    def count(self) -> int:
        """Number of elements N."""
        return len(self.index)

    @property
    def weights(self) -> FloatArray:
        """The cost's weights b (N no,)."""
        return np.zeros(0) if self.b is None else self.b

    def columns(self, outputs: tuple[int, ...]) -> IntArray:
        """Return the places in vec(o) of some outputs of every element, element by element."""
        return (np.arange(self.count)[:, None] * self.function.size1_out(0) + np.array(outputs, int)).ravel()


def _unique(values: IntArray) -> tuple[int, ...]:
    return tuple(int(v) for v in np.unique(values))


@lru_cache(maxsize=32)
def _kernel(function: ca.Function, rows: tuple[int, ...], costs: tuple[int, ...], compiled: bool) -> ElementKernel:
    return ElementKernel(function, rows, costs, compiled)


@lru_cache(maxsize=1)
def _makers() -> str:
    """Return the sources that write derivatives and their C."""
    files = {"nlp": ("elements.py",), "compiled": ("compile.py", "tape.py", "tape.h", "operations.h")}
    texts: list[str] = []
    for folder, names in files.items():
        home = resources.files(f"trundle.numerics.{folder}")
        texts += [home.joinpath(name).read_text("utf-8") for name in names]
    return "".join(texts)


class ElementKernel:
    """The functions of one element: its outputs, their Jacobians and the Hessian of nu'o (final).

    Outputs that enter no constraint are left out of the constraint's functions, those without cost of the cost's.

    Attributes
    ----------
    rows, costs, used : tuple of int
        Outputs that enter constraints, the cost, either.
    points : int
        Points at once of `compiled`, side by side.
    """

    def __init__(self, function: ca.Function, rows: tuple[int, ...], costs: tuple[int, ...], compiled: bool) -> None:
        self.name = function.name()
        self.rows, self.costs = rows, costs
        self.used = tuple(sorted({*rows, *costs}))
        self._loaded: Mapping[str, ca.Function] | None = None
        self.points = 1
        self._solves = any(part.class_name() == "Newton" for part in function.find_functions())
        try:
            known = self._solves or function.is_a("SXFunction")
            self._function = function if known else function.expand()
        except RuntimeError as error:
            raise InputError("function", function, f"one that expands to scalar operations: {error}") from error
        self._compiled = compiled and not self._solves

    @cached_property
    def functions(self) -> dict[str, ca.Function]:
        """VM functions of (w, p) and (w, p, nu).

        ``value`` -> o_rows; ``jacobian`` -> (o_rows, do_rows/dw); ``cost`` -> o_costs; ``gradient`` -> (o_costs,
        do_costs/dw); ``hessian`` -> upper triangle of d2(nu'o_used)/dw2.
        """
        function = self._function
        # Matrix expressions are written as scalar ones are.
        kind: type[ca.SX] = ca.MX if self._solves else ca.SX  # type: ignore[assignment]
        w = kind.sym("w", function.size1_in(0))
        p = kind.sym("p", function.size1_in(1) if function.n_in() == 2 else 0)
        # What is common is found once here: the derivatives have a sixth fewer operations.
        o = ca.densify(ca.cse(function(*(w, p)[: function.n_in()])))
        nu = kind.sym("nu", len(self.used))
        o_rows, o_costs, o_used = (_pick(o, which) for which in (self.rows, self.costs, self.used))
        H = ca.triu(ca.hessian(ca.dot(nu, o_used), w)[0])
        outputs = [o_rows], [o_rows, ca.jacobian(o_rows, w)], [o_costs], [o_costs, ca.jacobian(o_costs, w)], [H]
        return {
            key: ca.Function(key, [w, p, nu] if key == "hessian" else [w, p], out)
            for key, out in zip(_KEYS, outputs, strict=True)
        }

    @property
    def compiled(self) -> Mapping[str, ca.Function]:
        """The same functions as compiled C, from the cache if they are there, each of `points` points.

        A tape where an element has more than `COMPILE_LIMIT` operations and was never compiled, which `build` does;
        the VM's without a compiler.
        """
        if self._loaded is None:
            self._load(build=False)
        return self._loaded or self.functions

    def build(self) -> None:
        """Compile the functions, however long it takes; programs that are assembled from now on use them."""
        if self._loaded is None or self.points > 1:
            self._load(build=True)

    def pattern(self, key: str, output: int = 0) -> ca.Sparsity:
        """Return the pattern of an output of one of `functions`."""
        whole = self.compiled[key].sparsity_out(output)
        return ca.horzsplit(whole, whole.size2() // self.points)[0]

    def at(self, key: str, count: int, *inputs: ca.MX | ca.DM) -> list[ca.MX]:
        """Return the outputs of one of `functions` at `count` points, columns of the inputs, side by side."""
        function = self.compiled[key]
        blocks = -(-count // self.points)
        spare = blocks * self.points - count
        given = [ca.horzcat(value, ca.repmat(value[:, -1], 1, spare)) if spare else value for value in inputs]
        found = function.map(blocks).call(given)
        return [value[:, : value.shape[1] * count // (count + spare)] for value in found] if spare else found

    def _load(self, build: bool) -> None:
        """Take compiled code from the cache, or a tape, or make one of them."""
        self._loaded, self.points = None, 1
        if not self._compiled or (not build and (self._take("code") or self._take("tape"))):
            return
        small = sum(self.instructions().values()) <= COMPILE_LIMIT
        self._take("code" if small or build else "tape", make=True)

    def _take(self, kind: str, make: bool = False) -> bool:
        """Load the library of a kind, and return whether it is there."""
        digest = hashlib.sha256(f"{kind} {self._identity}".encode()).hexdigest()[:10]
        names = {key: library_name(f"{self.name}_{key}", digest) for key in _KEYS}

        def sources() -> str | dict[str, str]:
            if kind == "tape":
                return tape_sources({names[key]: f for key, f in self.functions.items()})
            return library_source({f"{self.name}_{key}": f for key, f in self.functions.items()}, digest=digest)[1]

        try:
            path = compile_library(f"trundle_{self.name}", sources, build=make, identity=f"{kind} {self._identity}")
            loaded = None if path is None else {key: ca.external(name, str(path)) for key, name in names.items()}
        except CompileError:
            if kind == "code":
                raise
            return False
        except RuntimeError as error:
            raise CompileError(f"the compiled functions of {self.name} cannot be loaded: {error}") from error
        if loaded is not None:
            self._loaded, self.points = loaded, POINTS if kind == "tape" else 1
        return loaded is not None

    @cached_property
    def _identity(self) -> str:
        """What the functions and their C follow from."""
        made = hashlib.sha256(f"{_makers()} {self._function.serialize()}".encode()).hexdigest()
        return f"{made} {self.rows} {self.costs}"

    def instructions(self) -> dict[str, int]:
        """Return the number of operations of each function."""
        return {key: f.n_instructions() for key, f in self.functions.items()}


def _pick(o: ca.SX, which: tuple[int, ...]) -> ca.SX:
    return o[list(which)] if which else type(o)(0, 1)


@dataclass(frozen=True)
class Scatter:
    """Where nonzeros of many small matrices go in one large sparse one: data = P @ (all small nonzeros).

    Attributes
    ----------
    key : (K,) int
        Places in the large matrix, column * height + row.
    source : (K,) int
        Places among the small nonzeros.
    value : (K,)
        Factors.
    width : int
        Number of small nonzeros.
    """

    key: IntArray
    source: IntArray
    value: FloatArray
    width: int

    def matrix(self, keys: IntArray) -> ca.DM:
        """Return P (len(keys), width) for the sorted places `keys` of the large matrix."""
        rows = np.searchsorted(keys, self.key)
        return to_casadi(sp.csc_matrix((self.value, (rows, self.source)), shape=(len(keys), self.width)))


def jacobian_scatter(group: ElementGroup, sparsity: ca.Sparsity, height: int) -> Scatter:
    """Return where the nonzeros of every do_rows/dw (of pattern `sparsity`) go in B vec(o)'s Jacobian (m, n)."""
    row, column = (np.array(part, dtype=np.intp) for part in sparsity.get_triplet())
    at = group.columns(group.kernel.rows).reshape(group.count, -1)[:, row].ravel()
    z = group.index[:, column].ravel()
    starts, counts = group.B.indptr[at], np.diff(group.B.indptr)[at]
    source = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = np.repeat(starts, counts) + within
    return Scatter(z[source] * height + group.B.indices[entry], source, group.B.data[entry], len(at))


def gradient_scatter(group: ElementGroup, sparsity: ca.Sparsity) -> Scatter:
    """Return where the nonzeros of every do_costs/dw go in the gradient (n,) of b'vec(o)."""
    row, column = (np.array(part, dtype=np.intp) for part in sparsity.get_triplet())
    at = group.columns(group.kernel.costs).reshape(group.count, -1)[:, row].ravel()
    return Scatter(group.index[:, column].ravel(), np.arange(len(at)), group.weights[at], len(at))


def hessian_scatter(group: ElementGroup, sparsity: ca.Sparsity, size: int) -> Scatter:
    """Return where the nonzeros of every upper triangle d2(nu'o)/dw2 go in the upper triangle (n, n)."""
    row, column = (np.array(part, dtype=np.intp) for part in sparsity.get_triplet())
    i, j = group.index[:, row].ravel(), group.index[:, column].ravel()
    # Two places of w that are the same entry of z: both halves of the triangle fall on its diagonal.
    twice = (i == j) & np.tile(row != column, group.count)
    return Scatter(np.maximum(i, j) * size + np.minimum(i, j), np.arange(len(i)), np.where(twice, 2.0, 1.0), len(i))


def to_casadi(matrix: sp.spmatrix) -> ca.DM:
    """Return a scipy sparse matrix as a sparse DM."""
    csc = sp.csc_matrix(matrix)
    csc.sum_duplicates()
    csc.sort_indices()
    height, width = csc.shape
    pattern = ca.Sparsity(height, width, csc.indptr.tolist(), csc.indices.tolist())
    return ca.DM(pattern, csc.data)


def pattern_of(keys: IntArray, height: int, width: int) -> ca.Sparsity:
    """Return the sparsity (height, width) with entries at the sorted places column * height + row."""
    column, row = np.divmod(keys, max(height, 1))
    indptr = np.searchsorted(column, np.arange(width + 1))
    return ca.Sparsity(height, width, indptr.tolist(), row.tolist())
