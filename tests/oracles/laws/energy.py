"""Energy never comes from nothing: seen from ground that moves like a screw, contacts only take it away."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .scene import Finding, moment, turn
from .shapes import Array
from .state import State

RISE = 1e-6
"""In parts of the energy that moves."""


def energies(state: State) -> Iterator[Finding]:
    """Yield the largest rise of the energy seen from the ground, less the work of constant inputs and springs."""
    if not state.scene.coasts or state.scene.driven:
        return
    energy, rise = gained(state)
    allowed = RISE * state.moving
    if rise > allowed:
        step = int(np.argmax(np.diff(energy)))
        text = f"energy from nothing: {rise:.3g} J of {state.moving:.3g}, most of it at {state.motion.time[step]:.6g} s"
        yield Finding("energy", float(state.motion.time[step]), rise, allowed, "all bodies", text)


def gained(state: State) -> tuple[Array, float]:
    """Return the energy (n,) seen from the ground, and its largest rise above what it has been, J."""
    energy = state.energy + state.stored - from_ground(state) - of_joints(state)
    return energy, float(np.max(energy - np.minimum.accumulate(energy)))


def from_ground(state: State) -> Array:
    """Return what the energy has by the ground's screw motion: Omega.L + V.P, less what gravity gives of them (n,).

    Contacts do no work on the ground seen from it; Omega and V = v - Omega x r of its origin are constant.
    """
    mo = state.motion
    none = np.zeros(len(mo.time))
    if mo.ground_v is None or mo.ground_omega is None:
        return none
    omega, r, v = mo.ground_omega[0], mo.ground_p[0], mo.ground_v[0]  # type: ignore[index]
    V = v - turn(omega, r)
    p = state.masses[None, :, None] * mo.velocity
    L = (state.spin + moment(mo.position, p)).sum(axis=1)
    gained = L @ omega + p.sum(axis=1) @ V
    path = _paths(state)
    pull = state.masses[None, :, None] * state.scene.gravity
    given = moment(path, np.broadcast_to(pull, path.shape)).sum(axis=1) @ omega
    given = given + float(state.masses.sum()) * (state.scene.gravity @ V) * mo.time
    return gained - given


def _paths(state: State) -> Array:
    """Return the integrals (n, b, d) of positions over time.

    By cubics through both ends' velocities; after an impact by parabolas with the later one's, as samples at impacts
    are those before them.
    """
    mo = state.motion
    dt = np.diff(mo.time)[:, None, None]
    x, u = mo.position, mo.velocity
    cubic = dt / 2 * (x[1:] + x[:-1]) + dt**2 / 12 * (u[:-1] - u[1:])
    parabola = dt / 3 * (x[:-1] + 2 * x[1:]) - dt**2 / 6 * u[1:]
    after = np.isin(mo.time[:-1], np.asarray(mo.breaks))[:, None, None]
    pieces = np.where(after, parabola, cubic)
    return np.concatenate([np.zeros_like(pieces[:1]), np.cumsum(pieces, axis=0)])


def of_joints(state: State) -> Array:
    """Return the work (n,) that constant inputs have done, less the energy that springs hold."""
    q = state.motion.q
    work = np.zeros(len(state.motion.time))
    if q is None:
        return work
    for j, joint in enumerate(state.scene.joints):
        work += joint.input * q[:, j] - 0.5 * joint.stiffness * (q[:, j] - joint.rest) ** 2
    return work


def stops(state: State) -> Iterator[Finding]:
    """Yield joints beyond their stops."""
    q = state.motion.q
    for j, joint in enumerate(state.scene.joints if q is not None else ()):
        beyond = np.maximum(joint.low - q[:, j], q[:, j] - joint.high)  # type: ignore[index]
        k = int(np.argmax(beyond))
        if beyond[k] > 1e-6:
            text = f"the joint of {joint.link} is {beyond[k]:.3g} beyond its stop"
            yield Finding("stop", float(state.motion.time[k]), float(beyond[k]), 1e-6, joint.link, text)
