"""One way for linear algebra to refuse what a user gave: singular matrices, and numbers beyond what floats hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError


@contextmanager
def refuse_singular(key: str, allowed: str) -> Iterator[None]:
    """Raise `InputError` in place of the errors of linear algebra and of an overflow; also a decorator.

    Examples
    --------
    >>> import numpy as np
    >>> from trundle.numerics.singular import refused
    >>> with refused("stiffness", "a regular matrix"):
    ...     np.linalg.solve(np.zeros((2, 2)), np.ones(2))
    Traceback (most recent call last):
        ...
    trundle.errors.InputError: stiffness = 'singular matrix': must be a regular matrix
    """
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        raise InputError(key, str(error).lower(), allowed) from None


def finite(*arrays: FloatArray) -> None:
    """Raise `FloatingPointError`, for `refuse_singular`, if a number is not finite: not every overflow is told."""
    if not all(np.isfinite(values).all() for values in arrays):
        raise FloatingPointError("a result that is not finite")
