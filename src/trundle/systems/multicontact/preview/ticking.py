"""A preview as expressions, for `trundle export`: the program over the wrenches alone, states taken out of it.

For contacts on ends with a slot each, a constant mass and axis, no flight and no known forces from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import FlatPatch
from trundle.control.tick import Argument, ControlTick, NamedEntry, ProgramStage
from trundle.systems.multicontact.centroidal.centroidal import projection_frame
from trundle.systems.multicontact.centroidal.samples import STATES
from trundle.systems.multicontact.preview.plan import PreviewPlan, row_sizes
from trundle.systems.multicontact.preview.preview import INSIDE, Preview
from trundle.systems.multicontact.preview.program import ProgramScales
from trundle.systems.multicontact.preview.window import ReferencePath
from trundle.threads import cached_property

ACCURACY = 1e-4
"""Of what Python's interior-point method finds, over 1 + |value|: wrenches have small weights."""


def preview_arguments(ends: int, samples: int) -> dict[str, Argument]:
    """Return the arguments of a preview of so many ends and samples, world axes."""
    at = f"of {ends} ends in {samples} samples"
    return {
        "com": Argument((3, 1), meaning="centre of mass, m"),
        "velocity": Argument((3, 1), meaning="its velocity, m/s"),
        "angular_momentum": Argument((3, 1), meaning="about it, kg m^2/s"),
        "durations": Argument((samples, 1), meaning="of the samples, s"),
        "held": Argument((ends, samples), meaning=f"1 where an end stands throughout a sample, else 0: {at}"),
        "places": Argument((3 * ends, samples), meaning=f"positions of the contacts, m: {at}"),
        "axes": Argument((9 * ends, samples), meaning=f"R_world_patch by columns: {at}"),
        "path": Argument((3, samples + 1), meaning="wanted centre of mass at the borders of the samples, m"),
        "path_rate": Argument((3, samples + 1), meaning="its velocity, m/s"),
    }


def preview_values(plan: PreviewPlan, path: ReferencePath, ends: Sequence[str]) -> tuple[FloatArray, ...]:
    """Return the arguments that made a plan along a path; matrices by columns."""
    window, K = plan.window, len(plan.window.samples.durations)
    held, places, axes = np.zeros((K, len(ends))), np.zeros((K, len(ends), 3)), np.zeros((K, len(ends), 9))
    for i, contact in enumerate(plan.contacts):
        end, on = ends.index(contact.name), window.held[:, i]
        held[on, end], places[on, end] = 1.0, contact.position
        axes[on, end] = contact.R_world_patch.ravel(order="F")
    samples, start = window.samples, window.start
    velocity = np.array([*(start[1:4:2] / samples.masses[0]), samples.speed[0]]) @ samples.W[0]
    points, rates = path(window.borders)
    known = window.origin, velocity, window.spin, samples.durations, held, places, axes, points, rates
    return tuple(np.array(part).ravel() for part in known)


def preview_outputs(plan: PreviewPlan, ends: Sequence[str]) -> FloatArray:
    """Return what `preview_tick` gives, out of a plan of Python's."""
    wrenches = np.zeros((len(ends), 6))
    for contact, wrench, on in zip(plan.contacts, plan.wrenches[0], plan.window.held[0], strict=True):
        if on:
            wrenches[ends.index(contact.name)] = wrench
    motion = np.stack((plan.position[1:], plan.velocity[1:], plan.acceleration), axis=1)
    return np.concatenate((motion.ravel(), wrenches.ravel()))


@dataclass(frozen=True)
class _Sample:
    """What the wrenches of one sample do, y in units of `ProgramScales`: rows (8, n) of all ends; A, C of the state."""

    reach: ca.MX
    A: ca.MX
    C: ca.MX


@dataclass(frozen=True)
class _Heights:
    """Motion along the axis: r3 and v3 at the borders (K + 1,), r3'' (K,), and the force (K,) that it takes, N."""

    height: ca.MX
    speed: ca.MX
    rise: ca.MX
    force: ca.MX


@dataclass(frozen=True)
class _Setting:
    """What the expressions are made of: symbols, the frame of the axis, and in it path, rates and gravity."""

    preview: Preview
    patches: Mapping[str, FlatPatch]
    given: Mapping[str, ca.MX]
    W: FloatArray
    scales: ProgramScales

    @property
    def mass(self) -> float:
        return self.preview.model.mass

    @property
    def g(self) -> FloatArray:
        return self.W @ self.preview.model.gravity

    @property
    def units(self) -> FloatArray:
        """Of the wrenches of a sample, SI."""
        return np.concatenate([self.scales.wrench[_bears(patch)] for patch in self.patches.values()])

    @property
    def frame(self) -> ca.MX:
        """W as an expression."""
        return ca.MX(ca.DM(self.W))

    @cached_property
    def points(self) -> ca.MX:
        """The path from the centre of mass on, in the frame."""
        path = self.given["path"]
        return self.frame @ (path - ca.repmat(self.given["com"], 1, path.shape[1]))

    @cached_property
    def rates(self) -> ca.MX:
        """Its velocity, in the frame."""
        return self.frame @ self.given["path_rate"]


def preview_tick(preview: Preview, patches: Mapping[str, FlatPatch], period: float) -> ControlTick:
    """Return a call of a preview as expressions.

    Parameters
    ----------
    preview : Preview
    patches : mapping of str to FlatPatch
        Of each end, what plans may load.
    period : float, s
        Between two plans.
    """
    arguments = preview_arguments(len(patches), len(preview.durations))
    given = {name: ca.MX.sym(name, *argument.shape) for name, argument in arguments.items()}
    scales = ProgramScales.of(preview.model.mass, float(np.linalg.norm(preview.model.gravity)))
    s = _Setting(preview, patches, given, projection_frame(preview.axis), scales)
    carry, cones = _program(s)
    flat, packed = ca.vertcat(*(ca.vec(part) for part in carry)), ca.MX.sym("carry", sum(p.numel() for p in carry))
    split = zip(ca.vertsplit(packed, _ends(carry)), carry, strict=True)
    parts = [ca.reshape(part, *whole.shape) for part, whole in split]
    z, solved = ca.MX.sym("z", carry[0].shape[0]), ca.MX.sym("solved")
    outputs = _outputs(s, parts, z)
    memory = ca.MX.sym("memory", outputs.shape[0])
    names = ([*given, "memory"], ["carry", "z", "good"])
    begin = ca.Function("begin", [*given.values(), memory], [flat, ca.MX.zeros(z.shape[0]), 1], *names)
    u = ca.if_else(solved > 0, outputs, memory)
    end = ca.Function("end", [packed, z, memory, solved], [u, u], ["carry", "z", "memory", "solved"], ["u", "after"])
    reset = ca.Function("reset", [], [ca.MX.zeros(memory.shape[0])], [], ["memory"])
    stage = _stage(packed, parts, z, cones)
    return ControlTick(arguments, begin, ((stage,),), end, reset, period, _names(s), ACCURACY)


def _program(s: _Setting) -> tuple[list[ca.MX], ca.DM]:
    """Return the numbers of the program, then those of its outputs; and the rows of the cones."""
    preview, given, mass, w = s.preview, s.given, s.mass, s.preview.weights
    along, K, each = _heights(s), len(preview.durations), len(s.units)
    n = K * each
    spin, fast = s.frame @ given["angular_momentum"], mass * (s.frame @ given["velocity"])
    at, P = ca.vertcat(0, fast[0], 0, fast[1], spin), ca.MX(STATES + 1, 0)
    wides, rows, offsets, wants = [], [], [], []
    for k in range(K):
        sample, after = _sample(s, along, k), ca.MX(STATES + 1, n - (k + 1) * each)
        P = ca.horzcat(sample.A @ P, ca.vertcat(sample.reach[:STATES, :], sample.reach[-1, :]))
        at = sample.A @ at + sample.C
        wides.append(ca.horzcat(P, after))
        x, v = mass * s.points[:2, k + 1], mass * s.rates[:2, k + 1]
        wants.append(ca.vertcat(x[0], v[0], x[1], v[1], 0, 0, 0))
        rows.append(ca.horzcat(ca.MX(1, k * each), sample.reach[STATES, :], after[:1, :]))
        offsets.append(at)
    # States (7,) of all samples, wide y + offset, taken out of the cost.
    wide, offset = ca.vertcat(*wides), ca.vertcat(*offsets)
    pair, (a, b) = np.array([w.position, w.velocity]) / mass**2, w.axes
    weights = np.concatenate((a * pair, b * pair, w.angular_momentum * np.array(w.momentum_axes), [w.third]))
    weighed = ca.diag(ca.DM(np.tile(weights, K))) @ wide
    prices = np.repeat([w.moment, w.force], 3)
    price = np.tile(np.concatenate([prices[_bears(patch)] for patch in s.patches.values()]) * s.units**2, K)
    H = ca.diag(ca.MX(price)) + weighed.T @ wide
    gradient = weighed.T @ (offset - ca.vertcat(*wants))
    cones, low = _cones(s)
    carry = [ca.densify(H), gradient, ca.densify(ca.vertcat(*rows)), along.force, low, ca.densify(wide), offset]
    return [*carry, along.height, along.speed, along.rise, given["durations"], given["com"], fast[:2]], cones


def _bears(patch: FlatPatch) -> slice:
    """Return the entries of a wrench that are unknown: a point bears no moment."""
    return slice(3 if patch.is_point else 0, 6)


def _ends(parts: list[ca.MX]) -> list[int]:
    return [0, *np.cumsum([part.numel() for part in parts]).tolist()]


def _heights(s: _Setting) -> _Heights:
    """As `trundle.systems.multicontact.preview.window` has them while something stands."""
    T, pull, points, rates = s.given["durations"], s.preview.pull, s.points, s.rates
    t = ca.vertcat(0, ca.cumsum(T))
    rate = (s.W @ s.given["velocity"])[2] - rates[2, 0]
    fading = (rate - pull * (rate - pull * points[2, 0]) * t) * ca.exp(-pull * t)
    speed = rates[2, :].T + fading
    height = ca.vertcat(0, ca.cumsum(T * (speed[1:] + speed[:-1]) / 2))
    rise = (speed[1:] - speed[:-1]) / T
    wanted, inside = s.mass * (rise - float(s.g[2])), INSIDE * s.scales.weight
    low = s.preview.least * ca.sum1(s.given["held"]).T
    return _Heights(height, speed, rise, ca.if_else(wanted < low, low + inside, wanted))


def _sample(s: _Setting, along: _Heights, k: int) -> _Sample:
    """As `trundle.systems.multicontact.centroidal.samples` has it, without forces from outside."""
    given, points = s.given, s.points
    T, phi = given["durations"][k], along.force[k] / s.mass
    mean = along.height[k] + T * (along.speed[k] / 2 + T * along.rise[k] / 6)
    about = (points[:2, k] + points[:2, k + 1]) / 2
    columns = []
    for i, patch in enumerate(s.patches.values()):
        G = s.W @ ca.reshape(given["axes"][9 * i : 9 * i + 9, k], 3, 3)
        p = s.W @ (given["places"][3 * i : 3 * i + 3, k] - given["com"])
        lift, impulse, arm = T * (p[2] - mean) + phi * T**3 / 6, T * G[:2, :], p[:2] - about
        none = ca.MX(1, 3)
        moved = [ca.horzcat(none, part) for j in (0, 1) for part in (T / 2 * impulse[j, :], impulse[j, :])]
        turned = [
            ca.horzcat(impulse[j, :], sign * (lift * G[1 - j, :] - T * p[1 - j] * G[2, :]))
            for j, sign in ((0, -1), (1, 1))
        ]
        third = ca.horzcat(T * G[2, :], arm[0] * impulse[1, :] - arm[1] * impulse[0, :])
        whole = ca.vertcat(*moved, *turned, ca.horzcat(none, G[2, :]), third)
        columns.append(given["held"][i, k] * whole[:, _bears(patch)])
    A = ca.MX.eye(STATES + 1)
    A[0, 1] = A[2, 3] = T
    A[5, 0], A[5, 1] = T * phi, T * T * phi / 2
    A[4, 2], A[4, 3] = -T * phi, -T * T * phi / 2
    fall = s.mass * T * ca.MX(s.g[:2])
    C = ca.vertcat(T / 2 * fall[0], fall[0], T / 2 * fall[1], fall[1])
    C = ca.vertcat(C, -T * T * phi / 6 * fall[1], T * T * phi / 6 * fall[0], 0)
    return _Sample(ca.horzcat(*columns) @ ca.diag(ca.MX(s.units)), A, C)


def _cones(s: _Setting) -> tuple[ca.DM, ca.MX]:
    """Return the rows of all samples' cones and their lower bounds; ends that do not stand lie well inside."""
    blocks, least, held, smallest = [], [], s.given["held"], s.preview.least
    for patch in s.patches.values():
        rows = patch.rows * s.scales.wrench / s.scales.weight
        rows = rows / row_sizes(rows, 1.0)[:, None]
        rows = rows if smallest > 0 else rows[1:]
        blocks.append(ca.DM(rows[:, _bears(patch)]))
        least.append(np.concatenate(([smallest / s.scales.weight], np.zeros(len(rows) - 1))))
    columns = []
    for k in range(held.shape[1]):
        columns += [ca.if_else(held[i, k], ca.MX(part), ca.MX(-np.ones(len(part)))) for i, part in enumerate(least)]
    return ca.diagcat(*(blocks * held.shape[1])), ca.vertcat(*columns)


def _stage(packed: ca.MX, parts: list[ca.MX], z: ca.MX, cones: ca.DM) -> ProgramStage:
    H, gradient, rows, force, low = parts[:5]
    n, y = z.shape[0], ca.MX.sym("y", z.shape[0])
    A = ca.vertcat(rows, ca.MX(cones))
    free = ca.MX(np.full(n, np.inf))
    bounds = ca.vertcat(-free, force, low), ca.vertcat(free, force, ca.MX(np.full(low.shape[0], np.inf)))
    results = [H, gradient, ca.densify(A.T), *bounds]
    pose = ca.Function("pose", [packed, z], results, ["carry", "z"], ["H", "g", "A", "low", "high"])
    return ProgramStage(pose, ca.Function("take", [packed, z, y], [y], ["carry", "z", "y"], ["after"]))


def _outputs(s: _Setting, parts: list[ca.MX], y: ca.MX) -> ca.MX:
    """Position, velocity (3,) at the end and acceleration (3,) in each sample; wrenches of the first sample."""
    wide, offset, height, speed, rise, durations, origin, fast = parts[5:]
    x, size, W = (wide @ y + offset) / s.mass, STATES + 1, s.W
    before, found = fast / s.mass, []
    for k in range(rise.shape[0]):
        r, v = x[size * k : size * k + 4 : 2], x[size * k + 1 : size * k + 4 : 2]
        position = origin + W.T @ ca.vertcat(r, height[k + 1])
        velocity, acceleration = ca.vertcat(v, speed[k + 1]), ca.vertcat((v - before) / durations[k], rise[k])
        found += [position, W.T @ velocity, W.T @ acceleration]
        before = v
    sizes = [6 - (_bears(patch).start or 0) for patch in s.patches.values()]
    for push in ca.vertsplit(s.units * y[: len(s.units)], np.cumsum([0, *sizes]).tolist()):
        found += [ca.MX.zeros(6 - push.shape[0]), push]
    return ca.densify(ca.vertcat(*found))


def _names(s: _Setting) -> tuple[NamedEntry, ...]:
    kinds = (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2"))
    motion: list[NamedEntry] = []
    for k in range(len(s.preview.durations)):
        for kind, unit in kinds:
            motion += [NamedEntry(f"{kind}.{k + 1}.{axis}", unit) for axis in "xyz"]
    wrench = [("moment", "N m"), ("force", "N")]
    pushes = [NamedEntry(f"{end}.{kind}.{axis}", unit) for end in s.patches for kind, unit in wrench for axis in "xyz"]
    return (*motion, *pushes)
