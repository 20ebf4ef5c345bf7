"""The cones of friction: the push inside them next to any, and how it changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import BoolArray, Contacts


@dataclass(frozen=True)
class Projection:
    """P_K of a trial (m, d), and where the trial is (m,): inside its cone, beside it, or below what is given."""

    pushes: FloatArray
    trial: FloatArray
    size: FloatArray
    inside: BoolArray
    edge: BoolArray
    low: BoolArray


class FrictionCones:
    """K: L_n >= least, |L_t| <= mu L_n, and the ray L_n (n - mu e) of a slip e that goes on; friction has a limit."""

    def __init__(self, contacts: Contacts) -> None:
        self.contacts, self.mu = contacts, contacts.friction
        self.sliding = np.flatnonzero(contacts.slides)
        rays = np.hstack([np.ones((contacts.m, 1)), -self.mu[:, None] * contacts.slips])[self.sliding]
        self.rays, self.squares = rays, np.sum(rays * rays, axis=1)

    def project(self, trial: FloatArray) -> Projection:
        """Return the pushes of the friction cones, with at least what is given, next to a trial (m, d)."""
        contacts, mu = self.contacts, self.mu
        n, t = trial[:, 0], trial[:, 1:]
        size = np.sqrt(np.einsum("ij,ij->i", t, t))
        inside = size <= mu * n
        edge = ~inside & (mu * size > -n)
        normal = np.where(inside, n, np.where(edge, (n + mu * size) / (1.0 + mu * mu), 0.0))
        low = normal < contacts.least
        normal = np.where(low, contacts.least, normal)
        room = mu * normal
        inside &= ~low
        edge &= ~low
        part = np.ones(contacts.m)
        np.divide(room, size, out=part, where=size > room)
        pushes = np.column_stack([normal, part[:, None] * t])
        if len(self.sliding):
            along = np.sum(self.rays * trial[self.sliding], axis=1) / self.squares
            pushes[self.sliding] = np.maximum(along, contacts.least[self.sliding])[:, None] * self.rays
        return Projection(pushes, trial, size, inside, edge, low)

    def slopes(self, at_trial: Projection) -> FloatArray:
        """Return the generalised Jacobians of P_K (m, d, d)."""
        contacts, d = self.contacts, self.contacts.d
        slopes = np.zeros((contacts.m, d, d))
        slopes[at_trial.inside] = np.eye(d)
        e = at_trial.trial[:, 1:] / np.where(at_trial.size > 0.0, at_trial.size, 1.0)[:, None]
        flat = np.eye(d - 1) - e[:, :, None] * e[:, None, :]
        at = np.flatnonzero(at_trial.edge)
        ray = np.column_stack([np.ones(len(at)), self.mu[at, None] * e[at]])
        slopes[at] = ray[:, :, None] * ray[:, None, :] / (1.0 + self.mu[at] ** 2)[:, None, None]
        # Tangentially, where friction has reached its limit, as the push turns; without friction not at all.
        at = np.flatnonzero(at_trial.edge | at_trial.low)
        room = self.mu[at] * at_trial.pushes[at, 0]
        beyond = at_trial.size[at] > room
        part = np.ones(len(at))
        np.divide(room, at_trial.size[at], out=part, where=beyond)
        turned = np.where(beyond[:, None, None], part[:, None, None] * flat[at], np.eye(d - 1))
        slopes[at, 1:, 1:] += (room > 0.0)[:, None, None] * turned
        if len(self.sliding):
            pushes = at_trial.pushes[self.sliding, 0] > contacts.least[self.sliding]
            share = np.where(pushes, 1.0 / self.squares, 0.0)[:, None, None]
            slopes[self.sliding] = share * self.rays[:, :, None] * self.rays[:, None, :]
        return slopes
