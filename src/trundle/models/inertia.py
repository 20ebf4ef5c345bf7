"""Checks of rigid-body inertia."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, positive
from trundle.errors import InputError

_SLACK = 1e-9  # of the largest moment: round-off of a file's digits


def check_inertia(d: int, inertia: ArrayLike) -> FloatArray | float:
    """Return a checked inertia about the centre of mass.

    Parameters
    ----------
    d : int
        2: one positive number. 3: one positive number (the same about every axis), three principal
        moments, or a symmetric matrix, kg m2, in body axes.

    Raises
    ------
    InputError
        If it is not positive definite or breaks the triangle inequality I1 + I2 >= I3, which every
        mass distribution obeys.
    """
    try:
        size = 0 if d == 2 else np.ndim(inertia)
    except ValueError:  # ragged
        size = 2
    if size == 0:
        return positive("inertia", inertia, "kg m2")
    if size == 1:
        matrix = np.diag(array("inertia", inertia, (3,), unit="kg m2"))
    else:
        matrix = np.array(array("inertia", inertia, (3, 3), unit="kg m2"))
    if np.max(np.abs(matrix - matrix.T)) > _SLACK * np.max(np.abs(matrix)):
        raise InputError("inertia", inertia, "symmetric")
    principal = np.linalg.eigvalsh(matrix)
    if principal[0] <= 0 or principal[0] + principal[1] < principal[2] * (1 - _SLACK):
        raise InputError(
            "inertia", inertia, "positive definite with I1 + I2 >= I3 for every order of the principal moments"
        )
    if np.array_equal(matrix, matrix[0, 0] * np.eye(3)):
        return float(matrix[0, 0])
    matrix.setflags(write=False)
    return matrix
