"""CasADi functions called through buffers, without the conversions of an ordinary call."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.numerics.compiled.compile import rename_function
from trundle.threads import PerThread


class BufferedCall:
    """A function bound to numpy arrays: a call reads the inputs' arrays and fills the outputs' (final).

    For one thread at a time, as the arrays are.

    Parameters
    ----------
    function : casadi.Function
    inputs, outputs : sequences of arrays
        One an input or output, as long as its nonzeros, column by column; kept here, because CasADi holds bare
        addresses.
    """

    def __init__(
        self, function: ca.Function, inputs: Sequence[NDArray[np.float64]], outputs: Sequence[NDArray[np.float64]]
    ) -> None:
        self._kept = function, inputs, outputs
        self._buffer, self._trigger = function.buffer()
        # CasADi's stubs ask for a size that its code does not.
        for i, values in enumerate(inputs):
            if values.size:
                self._buffer.set_arg(i, memoryview(values.data))  # pyright: ignore[reportCallIssue, reportArgumentType]
        for i, values in enumerate(outputs):
            if values.size:
                self._buffer.set_res(i, memoryview(values.data))  # pyright: ignore[reportCallIssue, reportArgumentType]

    def __call__(self) -> None:
        """Evaluate."""
        self._trigger()

    @property
    def failed(self) -> bool:
        """Whether the last evaluation failed, and left the outputs as they were."""
        return bool(self._buffer.ret())


class BufferedFunction:
    """Calls a CasADi function of vectors through a buffer of the calling thread's: 3 us instead of 30 (final).

    Parameters
    ----------
    function : casadi.Function
        Dense inputs, column by column; vectors out.
    """

    def __init__(self, function: ca.Function) -> None:
        self.function = dense(function)
        self._buffers = PerThread(self._bind)

    def __call__(self, *values: float | FloatArray) -> list[FloatArray]:
        """Return new arrays (size,), one an output."""
        inputs, results, call = self._buffers()
        for kept, value in zip(inputs, values, strict=True):
            kept[:] = value
        call()
        return [result.copy() for result in results]

    def rows(self, *values: FloatArray) -> list[FloatArray]:
        """Return new arrays (N, size), one an output, of inputs (N, n), one after the other."""
        inputs, results, call = self._buffers()
        found = [np.empty((len(values[0]), result.size)) for result in results]
        for number in range(len(values[0])):
            for kept, value in zip(inputs, values, strict=True):
                kept[:] = value[number]
            call()
            for kept, result in zip(found, results, strict=True):
                kept[number] = result
        return found

    def _bind(self) -> tuple[list[FloatArray], list[FloatArray], BufferedCall]:
        f = self.function
        inputs = [np.zeros(f.numel_in(i)) for i in range(f.n_in())]
        results = [np.zeros(f.numel_out(i)) for i in range(f.n_out())]
        return inputs, results, BufferedCall(f, inputs, results)


class MatrixFunction:
    """Calls a CasADi function of vectors and numbers at one point through a buffer, at many as CasADi does (final).

    Parameters
    ----------
    function : casadi.Function
        Vectors in, matrices out.
    """

    def __init__(self, function: ca.Function) -> None:
        self._buffered = BufferedFunction(function)
        self._sizes = [function.size_out(i) for i in range(function.n_out())]

    def __call__(self, *given: float | FloatArray) -> list[FloatArray]:
        """Return the matrices (rows, columns) at vectors (n,); at columns (n, N) theirs beside each other."""
        if any(np.ndim(value) > 1 for value in given):
            return [np.asarray(value) for value in self._buffered.function.call(list(given))]
        values = self._buffered(*given)
        return [value.reshape(size, order="F") for value, size in zip(values, self._sizes, strict=True)]


def dense(function: ca.Function) -> ca.Function:
    """Return a function with its outputs in full: itself if they are."""
    if all(function.sparsity_out(i).is_dense() for i in range(function.n_out())):
        return function
    return rename_function(function, "dense", dense=True)
