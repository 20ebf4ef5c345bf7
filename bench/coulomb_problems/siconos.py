"""Problems of contacts by Siconos' numerics, a program of its own: ``python3 siconos.py PROBLEMS.npz ANSWERS.npz``.

It runs in the system's Python, where Debian's ``python3-siconos`` is, and knows nothing of trundle. All friction has a
limit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import numpy as np

SWEEPS, TOLERANCE = 3000, 1e-13


def impulses(numerics, D, before, friction):
    """Return the impulses (m, d) that block Gauss-Seidel finds, in units in which D and velocities are about one."""
    m, d = before.shape
    size, speed = float(np.abs(D).max()), float(np.abs(before).max())
    if not size or not speed:
        return np.zeros((m, d))
    problem = numerics.FrictionContactProblem(d, m, D / size, before.ravel() / speed, friction)
    L, v = np.zeros(m * d), np.zeros(m * d)
    solver = numerics.SICONOS_FRICTION_3D_NSGS if d == 3 else numerics.SICONOS_FRICTION_2D_NSGS
    options = numerics.SolverOptions(solver)
    options.iparam[0], options.dparam[0] = SWEEPS, TOLERANCE
    (numerics.fc3d_driver if d == 3 else numerics.fc2d_driver)(problem, L, v, options)
    return L.reshape(m, d) * speed / size


def main() -> None:
    """Solve all problems of a file."""
    from siconos import numerics  # pyright: ignore[reportMissingImports]

    given, found = np.load(sys.argv[1]), {}
    for k in range(int(given["count"])):
        D, before, friction = given[f"D{k}"], given[f"before{k}"], given[f"friction{k}"]
        begin = process_time()
        found[f"L{k}"] = impulses(numerics, D, before, friction)
        found[f"seconds{k}"] = process_time() - begin
    with Path(sys.argv[2]).open("wb") as file:
        np.savez(file, **found)


if __name__ == "__main__":
    main()
