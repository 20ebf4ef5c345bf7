"""The impulses of all jumps of a run, each with the velocities of the points that it acts on."""

from __future__ import annotations

import numpy as np

from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import Flags, Jumps, Numbers
from trundle.audit.mechanics import cross, dot, length
from trundle.audit.report import Check, Values, judge_values
from trundle.checks import FloatArray


class Pushes:
    """The impulses of all jumps, with the velocities of the points that they act on.

    Attributes
    ----------
    before, after : (k, 3) m/s
        Of A's material point minus that of B's; of a contact of a joint its rate, along z of a stop, x of friction.
    normal, along : (k,) N s
        Parts of the impulse, along the normal and across it.
    opening : tuple of (k,) m/s
        Normal velocities before and after.
    driven : (k,) m/s
        By how much gravity and prescribed motions alone change the relative velocity within a time step, at most.
    island : (k,)
        Number of the island.
    body : (k,)
        One of its bodies that moves.
    turning : tuple of (k, 3) rad/s
        Angular velocities of A minus those of B, before and after.
    of_joint, rubs, hinged : (k,)
        Whether it is of a contact of a joint, of its dry friction, and of a hinge: the impulse is a moment's, N m s.
    """

    def __init__(self, anatomy: Anatomy, jumps: Jumps, accuracy: float = 0.0) -> None:
        self.anatomy, self.jumps, self.accuracy = anatomy, jumps, accuracy
        contacts = [anatomy.contacts[i] for i in jumps.contact]
        self.of_joint: Flags = np.array([one.pair.joint is not None for one in contacts], dtype=bool)
        self.rubs: Flags = np.array([one.pair.rubs for one in contacts], dtype=bool)
        turning = {anatomy.names[hinge.body] for hinge in anatomy.hinges if not hinge.slides}
        self.hinged: Flags = self.of_joint & np.array([one.pair.body_A in turning for one in contacts], dtype=bool)
        A, B = (np.array([getattr(one, side) for one in contacts], dtype=np.intp) for side in "AB")
        self.sides = A, B
        self.body: Numbers = np.where(anatomy.moves[A], A, B)
        self.axis = np.where(self.of_joint[:, None], np.array([0.0, 0.0, 1.0]), jumps.normal)
        self.before, self.after = _relative(jumps, A, B)
        self.driven = _speed_from_given_motion(anatomy, jumps, A, B)
        for row in np.flatnonzero(self.of_joint):
            rates = stop_rates(anatomy, jumps, int(row))
            joint = contacts[row].pair.joint
            along = np.eye(3)[2 if joint is None else joint.axis_in_space]
            self.before[row], self.after[row] = (rate * along for rate in rates)
        self.normal = dot(jumps.impulse, self.axis)
        self.along = length(jumps.impulse - self.normal[:, None] * self.axis)
        self.opening = dot(self.before, self.axis), dot(self.after, self.axis)
        self.size = length(jumps.impulse)
        self.turning = _turning(jumps, A, B)
        self.island = islands(anatomy, jumps)
        self.names = tuple((contact.name,) for contact in anatomy.contacts)
        self.frictions = [one.friction for one in contacts]
        self.mu = np.array([law.mu for law in self.frictions])

    def largest(self, values: FloatArray) -> FloatArray:
        """Return the largest of the values (k,) in the island of each."""
        found = np.zeros(int(self.island.max(initial=-1)) + 1)
        np.maximum.at(found, self.island, values)
        return found[self.island]

    def check(self, law: str, unit: str, text: str, off: FloatArray, allowed: FloatArray, known: Flags) -> Check:
        """Return the check of a value (k,) of each impulse."""
        jump, contact = self.jumps.jump, self.jumps.contact
        known = known & ~self.jumps.kick[jump]
        values = Values(off, allowed, contact, self.jumps.begin[jump], self.jumps.run[jump], known)
        return judge_values(law, unit, self.names, text, values)


def _relative(jumps: Jumps, A: Numbers, B: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return the velocities (k, 3), m/s, of A's material point minus that of B's before and after.

    The arms are those at the end, where points are known: a time step pushes in its middle, with one arm for both.
    """
    rows, found = jumps.jump, [np.zeros((len(jumps.jump), 3)) for _ in range(2)]
    for body, sign in ((A, 1.0), (B, -1.0)):
        arm = jumps.point - jumps.after.position[rows, body]
        for velocity, frames in zip(found, (jumps.before, jumps.after), strict=True):
            velocity += sign * (frames.velocity[rows, body] + cross(frames.angular_velocity[rows, body], arm))
    return found[0], found[1]


def _turning(jumps: Jumps, A: Numbers, B: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return the angular velocities (k, 3), rad/s, of A minus those of B before and after."""
    rows = jumps.jump
    before, after = (f.angular_velocity[rows, A] - f.angular_velocity[rows, B] for f in (jumps.before, jumps.after))
    return before, after


def _speed_from_given_motion(anatomy: Anatomy, jumps: Jumps, A: Numbers, B: Numbers) -> FloatArray:
    """Return by how much (k,), m/s, relative velocities change by what is no impulse: by gravity and given motions."""
    rows = jumps.jump
    found = float(np.linalg.norm(anatomy.gravity)) * (jumps.end - jumps.begin)[rows]
    for body in (A, B):
        arm = jumps.point - jumps.after.position[rows, body]
        before, after = (
            frames.velocity[rows, body] + cross(frames.angular_velocity[rows, body], arm)
            for frames in (jumps.before, jumps.after)
        )
        found = found + np.where(anatomy.moves[body], 0.0, length(after - before))
    return found


def stop_rates(anatomy: Anatomy, jumps: Jumps, row: int) -> tuple[float, float]:
    """Return the rates before and after of a joint: away from the end of its range, and of one with friction."""
    pair = anatomy.contacts[jumps.contact[row]].pair
    for hinge in anatomy.hinges:
        if anatomy.names[hinge.body] == pair.body_A and pair.joint is not None:
            at = jumps.jump[row], hinge.number
            return float(pair.joint.gain * jumps.rates[at]), float(pair.joint.gain * jumps.rates_after[at])
    return 0.0, 0.0


def islands(anatomy: Anatomy, jumps: Jumps) -> Numbers:
    """Return the number of the island (k,) of each impulse: contacts of one event that moving bodies join."""
    parent = list(range(len(jumps.jump)))

    def top(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    bases = anatomy.bases
    last: dict[tuple[int, int], int] = {}
    for row, (jump, contact) in enumerate(zip(jumps.jump.tolist(), jumps.contact.tolist(), strict=True)):
        one = anatomy.contacts[contact]
        for body in (one.A, one.B):
            if not anatomy.moves[body]:
                continue
            key = jump, bases[body]
            if key in last:
                parent[top(row)] = top(last[key])
            last[key] = row
    tops = [top(row) for row in range(len(parent))]
    number = {one: k for k, one in enumerate(dict.fromkeys(tops))}
    return np.array([number[one] for one in tops], dtype=np.intp)
