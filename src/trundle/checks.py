"""Checks of user input: each returns the clean value or raises `InputError` naming the parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.errors import InputError, reason

LARGEST_INTEGER = 2**53
"""Beyond it floats, and numbers in files, are not exact."""
_LEAST, _MOST, _SQUARED = 1e-50, 1e50, 1e152

Word = TypeVar("Word", bound=str)
FloatArray = NDArray[np.float64]
Given = TypeVar("Given")
Kept = TypeVar("Kept")


class Converted(Generic[Given, Kept]):
    """Field of a dataclass whose ``__post_init__`` replaces what is `Given` to the constructor by what is `Kept`.

    For type checkers alone; an instance holds the value as any other field does. Without a default the argument is
    required. With `keep`, (key, given) -> kept, the constructor of a `trundle.parameters.Checked` does it (`vector`).

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from numpy.typing import ArrayLike
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     position: Converted[ArrayLike, FloatArray] = Converted()
    ...
    ...     def __post_init__(self) -> None:
    ...         object.__setattr__(self, "position", array("position", self.position, (2,)))
    >>> Point([1, 2]).position.tolist()
    [1.0, 2.0]
    """

    def __init__(self, *default: Given, keep: Callable[[str, Given], Kept] | None = None) -> None:
        self._default, self.keep = default, keep

    def __get__(self, instance: object, owner: type | None = None) -> Kept:
        if not self._default:
            raise AttributeError("a required argument has no default")
        return self._default[0]  # pyright: ignore[reportReturnType]

    if TYPE_CHECKING:

        def __set__(self, instance: object, value: Given | Kept) -> None: ...


ArrayField = Converted[ArrayLike, FloatArray]


def vector(unit: str = "", *default: ArrayLike, above: float = -math.inf) -> ArrayField:
    """Return the field of three numbers, kept as an array (3,)."""
    return Converted(*default, keep=lambda key, value: array(key, value, (3,), above=above, unit=unit))


def vector_or_none(unit: str = "") -> Converted[ArrayLike | None, FloatArray | None]:
    """Return the field of three numbers, kept as an array (3,), or None, its default."""
    return Converted(None, keep=lambda key, value: None if value is None else array(key, value, (3,), unit=unit))


def size(unit: str) -> Converted[float, float]:
    """Return the field of a number > 0."""
    return Converted(keep=lambda key, value: positive(key, value, unit))


def number(
    key: str,
    value: Any,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    unit: str = "",
) -> float:
    """Return `value` as a finite float inside ``[minimum, maximum]`` and ``(above, below)``.

    It is also within what products of it with others can bear: at most 1e50 in size, and what is > 0 at least 1e-50.

    Raises
    ------
    InputError
        If it is no real number (booleans and strings are none), not finite or out of range.
    """
    scalar = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    result = math.nan
    if not isinstance(scalar, bool | np.bool_) and isinstance(scalar, Real):
        try:
            result = float(scalar)
        except OverflowError:
            result = math.nan
    words = f" ({unit})" if unit else ""
    if not math.isfinite(result) or not minimum <= result <= maximum or not above < result < below:
        raise InputError(key, value, "a finite number" + _range(minimum, maximum, above, below) + words)
    if abs(result) > _MOST or (above == 0.0 and result < _LEAST):
        raise InputError(key, value, f"a number from {_LEAST if above == 0.0 else -_MOST:g} to {_MOST:g}{words}")
    return result


def positive(key: str, value: Any, unit: str = "") -> float:
    """Return `value` as a float > 0."""
    return number(key, value, above=0.0, unit=unit)


def non_negative(key: str, value: Any, unit: str = "") -> float:
    """Return `value` as a finite float >= 0."""
    return number(key, value, minimum=0.0, unit=unit)


def integer(key: str, value: Any, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return `value` as an int inside ``[minimum, maximum]``; 2.0 is no int."""
    low = "" if minimum is None else f" >= {minimum}"
    high = "" if maximum is None else f" <= {maximum}"
    allowed = f"an integer{low}{' and' if low and high else ''}{high}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise InputError(key, value, allowed)
    result = int(value)
    if abs(result) > LARGEST_INTEGER:
        raise InputError(key, value, f"{allowed}, of at most 2**53")
    if (minimum is not None and result < minimum) or (maximum is not None and result > maximum):
        raise InputError(key, value, allowed)
    return result


def array(
    key: str,
    value: Any,
    shape: Sequence[int | None],
    *,
    minimum: float = -math.inf,
    above: float = -math.inf,
    unit: str = "",
) -> FloatArray:
    """Return `value` as a read-only float64 array of `shape` (None: any length), finite and with squares that are.

    Raises
    ------
    InputError
        If it is ragged, not numeric, of another shape, not finite or out of range.
    """
    finite = small = False
    try:
        raw = np.asarray(value)
    except Exception:  # ragged, or whatever the conversion of an object raises
        raw = None
    if raw is not None and raw.dtype.kind in "iuf":
        result = np.array(raw, dtype=np.float64)
        right = len(result.shape) == len(shape) and all(
            n is None or n == m for n, m in zip(shape, result.shape, strict=True)
        )
        finite = bool(np.isfinite(result).all())
        small = finite and bool((np.abs(result) <= _SQUARED).all())
        right = right and small
        # Comparisons and the words of an error only where they are needed: control loops come here.
        right = right and not (minimum > -math.inf and np.any(result < minimum))
        if right and not (above > -math.inf and np.any(result <= above)):
            result.setflags(write=False)
            return result
    size = " x ".join("n" if n is None else str(n) for n in shape)
    allowed = f"an array of {size} finite numbers" + _range(minimum, math.inf, above, math.inf)
    words = f" ({unit})" if unit else ""
    most = f", each at most {_SQUARED:g} in size" if finite and not small else ""
    raise InputError(key, value, allowed + words + most) from None


class Standing:
    """What stands in an expression where a model has a number, its `value`."""

    value: float


def choice(key: str, value: Any, options: Iterable[Word]) -> Word:
    """Return `value` if it is one of `options`."""
    names = list(options)
    for name in names:
        if isinstance(value, str) and value == name:
            return name
    raise InputError(key, value, "one of " + ", ".join(repr(n) for n in names))


def instance(key: str, value: object, kind: type[Kept] | UnionType, allowed: str) -> Kept:
    """Return `value` if it is an instance of `kind`; `allowed` says in words what is."""
    if not isinstance(value, kind):
        raise InputError(key, value, allowed)
    return value  # pyright: ignore[reportReturnType]


def rotation(key: str, value: Any, tolerance: float = 1e-8) -> FloatArray:
    """Return `value` (3, 3) as a read-only proper rotation matrix."""
    matrix = array(key, value, (3, 3))
    error = float(np.max(np.abs(matrix @ matrix.T - np.eye(3))))
    if error > tolerance or np.linalg.det(matrix) < 0:
        raise InputError(key, value, "a rotation matrix (orthogonal, determinant +1)")
    return matrix


def quaternion(key: str, value: Any, tolerance: float = 1e-3) -> FloatArray:
    """Return `value` (w, x, y, z) normalised; its norm must be 1 within `tolerance`."""
    result = array(key, value, (4,))
    norm = float(np.linalg.norm(result))
    if abs(norm - 1.0) > tolerance:
        raise InputError(key, value, f"a unit quaternion (w, x, y, z); its norm is {norm:.6g}")
    # A quaternion that is unit to round-off stays what it was: writing and reading a file changes nothing.
    clean = result if abs(norm - 1.0) <= 1e-15 else result / norm
    clean = np.array(clean)
    clean.setflags(write=False)
    return clean


def inside(key: str, name: str, folders: Sequence[Path], where: str, file: str | None = None) -> Path:
    """Return the path that `name` has in the first of `folders`, links resolved; it may lie in any of them.

    Raises
    ------
    InputError
        If it lies elsewhere; `where` says in words what is allowed.
    """
    try:
        homes = [folder.resolve() for folder in folders]
        path = (folders[0] / name).resolve()
        path.exists()  # a name that is too long for the system is no file's
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(key, name, f"a file that can be read ({reason(error)})", file) from None
    if not any(path.is_relative_to(home) for home in homes):
        raise InputError(key, name, where, file)
    return path


def _range(minimum: float, maximum: float, above: float, below: float) -> str:
    parts = []
    if minimum > -math.inf:
        parts.append(f">= {minimum:g}")
    if above > -math.inf:
        parts.append(f"> {above:g}")
    if maximum < math.inf:
        parts.append(f"<= {maximum:g}")
    if below < math.inf:
        parts.append(f"< {below:g}")
    return " " + " and ".join(parts) if parts else ""
