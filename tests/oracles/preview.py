"""The preview program condensed: states eliminated, contact after contact, in plain SI units and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def condensed(window: Any, inputs: list[Array]) -> tuple[Array, Array]:
    """Return Psi (6 K, n) and the free response (6 K,): all states at the ends of the samples are X = Psi U + free.

    `inputs` (6, n_k) of each sample, side by side for its contacts.
    """
    stages, K = window.stages, len(window.stages.A)
    total = sum(B.shape[1] for B in inputs)
    Psi, free = np.zeros((6 * K, total)), np.zeros(6 * K)
    x, rows, at = window.start, np.zeros((6, total)), 0
    for k in range(K):
        A = stages.A[k] @ window.E[k]
        rows = A @ rows
        rows[:, at : at + inputs[k].shape[1]] += inputs[k]
        at += inputs[k].shape[1]
        x = A @ x + stages.A[k] @ window.e[k] + stages.C[k]
        Psi[6 * k : 6 * k + 6], free[6 * k : 6 * k + 6] = rows, x
    return Psi, free


def program(preview: Any, window: Any, contacts: Any) -> tuple[Any, Any]:
    """Return (H, g, A, low, high) of the condensed program, inputs scaled by the weight, and how to read an answer.

    Reading gives wrenches (K, n, 6) and states (K, 6).
    """
    s, w, K = window.samples, preview.weights, len(window.stages.A)
    weight = 9.81 * preview.model.mass
    blocks, rows, sums, where = [], [], [], []
    for k in range(K):
        parts, along = [], []
        for i in np.flatnonzero(window.held[k]):
            c = contacts[i]
            p, R = (np.array(c.position) - window.origin)[None, None], np.array(c.R_world_patch)[None, None]
            B = window.stages.inputs(np.tile(p, (K, 1, 1)), np.tile(R, (K, 1, 1, 1)))[k, 0]
            parts.append(B * weight)
            along.append(np.concatenate((np.zeros(3), s.W[k, 2] @ c.R_world_patch)))
            rows.append(c.patch.rows)
            where.append((k, i))
        blocks.append(np.hstack(parts) if parts else np.zeros((6, 0)))
        sums.append(np.concatenate(along) if along else np.zeros(0))
    Psi, free = condensed(window, blocks)
    n = Psi.shape[1]
    per = 1.0 / np.repeat(s.masses, 4).reshape(K, 4)
    Wx = np.column_stack((np.tile([w.position, w.velocity] * 2, (K, 1)) * per**2, np.full((K, 2), w.angular_momentum)))
    Wu = np.tile([w.moment] * 3 + [w.force] * 3, n // 6) * weight**2
    H = Psi.T @ (Wx.ravel()[:, None] * Psi) + np.diag(Wu)
    g = Psi.T @ (Wx.ravel() * (free - window.reference.ravel()))
    A, low, high, at, row = np.zeros((K + sum(map(len, rows)), n)), [], [], 0, K
    for k, part in enumerate(sums):
        A[k, at : at + len(part)] = part
        at += len(part)
        low.append(s.privileged_force[k] / weight if len(part) else 0.0)  # in flight there is nothing to prescribe
        high.append(low[-1])
    for i, part in enumerate(rows):
        A[row : row + len(part), 6 * i : 6 * i + 6] = part
        row += len(part)
        low += [0.0] * len(part)
        high += [np.inf] * len(part)

    def read(U: Array) -> tuple[Array, Array]:
        wrenches = np.zeros((K, len(contacts), 6))
        for (k, i), value in zip(where, U.reshape(-1, 6), strict=True):
            wrenches[k, i] = weight * value
        return wrenches, (Psi @ U + free).reshape(K, 6)

    return (H, g, A, np.concatenate((np.full(n, -np.inf), low)), np.concatenate((np.full(n, np.inf), high))), read
