"""Events: what an impact may do. Impulses explain every change of velocity, stay in their cones and give no energy."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import BodyFrames, Evidence, Flags, Jumps
from trundle.audit.joints import joint_torques_of
from trundle.audit.mechanics import Wrenches, dot, ledger, length, moving, powers, split_ledger, turning_terms
from trundle.audit.pushes import Pushes
from trundle.audit.report import Check, Values, judge_values
from trundle.audit.scales import Scales
from trundle.audit.touches import impulses_across
from trundle.checks import FloatArray
from trundle.models.tree.system import ContactSystem

_FAST = 0.1
"""Twice the angle, rad, that a body may turn within a time step for its arms to count as those in its middle."""


def event_checks(system: ContactSystem, anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks of events and time steps."""
    jumps = evidence.jumps
    if not len(jumps):
        return []
    part = max(1.0, tolerances.DECLARED * evidence.accuracy / tolerances.JUMP)
    found = [_balance(anatomy, jumps, scales, part)]
    if len(jumps.jump):
        pushes = Pushes(anatomy, jumps, evidence.accuracy)
        found += [
            _pulls(pushes, scales),
            _cones(pushes, scales, evidence.slips_ignored),
            _turning_bounds(pushes, scales, evidence.slips_ignored),
            _energy(pushes, scales, part),
            _restitution(pushes, scales, part),
            _bystanders(pushes, scales, part, evidence.slips_ignored),
            impulses_across(system, pushes, scales),
        ]
    return found


def _balance(anatomy: Anatomy, jumps: Jumps, scales: Scales, part: float) -> Check:
    """Momenta change by the impulses alone, and within a time step by gravity, motors and springs."""
    m = len(jumps)
    both = BodyFrames(*(np.concatenate(part) for part in zip(jumps.before.parts, jumps.after.parts, strict=True)))
    bodies = moving(anatomy, both)
    center = bodies.center[m:]  # where the contacts are known; over a step their arms hardly turn
    wrenches = Wrenches.none(m, len(anatomy.names))
    contacts = [anatomy.contacts[i] for i in jumps.contact]
    real = np.array([one.pair.joint is None for one in contacts], dtype=bool)
    # A face lands as a whole at the tilt that its shape declares.
    on_A = np.array([one.A for one in contacts], dtype=np.intp)
    highest = np.where(jumps.steps[jumps.jump], 0.0, 2.0 * anatomy.tilt[on_A] * scales.sizes[on_A])
    tilted = np.clip(jumps.gaps, -highest, highest)
    for sign, side in ((1.0, "A"), (-1.0, "B")):
        body = np.array([getattr(one, side) for one in contacts], dtype=np.intp)
        rows = np.flatnonzero(real & anatomy.moves[body])
        at = jumps.jump[rows], body[rows]
        place = jumps.point[rows] if side == "B" else jumps.point[rows] + tilted[rows, None] * jumps.normal[rows]
        wrenches.add(*at, place - center[at], sign * jumps.impulse[rows], sign * jumps.moments[rows])
    h = (jumps.end - jumps.begin)[:, None]
    weight = h[:, :, None] * (anatomy.mass[:, None] * anatomy.gravity)[None]
    wrenches.force[:] += weight
    wrenches.force_size[:] += length(weight)
    first, last = split_ledger(ledger(anatomy, both, bodies), slice(m), slice(m, None))
    pushed, sizes = powers(anatomy, last, wrenches)
    if len(there := np.flatnonzero(jumps.steps)):  # a step pushes in its middle: bodies of a tree have moved since
        share = 0.5 if jumps.share is None else jumps.share[there, None]
        pushed[there] = share * pushed[there] + (1.0 - share) * powers(anatomy, first, wrenches)[0][there]
    along, along_size = joint_torques_of(anatomy, jumps.inputs, jumps.joints, (jumps.rates + jumps.rates_after) / 2)
    hinges = slice(6 * anatomy.trees, None)
    pushed[:, hinges] += h * along
    if anatomy.hinges and np.any(h):  # joints and their axes move within a time step
        moved = turning_terms(anatomy, jumps.before, first) + turning_terms(anatomy, jumps.after, last)
        pushed[:, hinges] += h / 2 * moved
    sizes[:, hinges] += h * along_size
    _add_stops(anatomy, jumps, pushed[:, hinges], sizes[:, hinges])
    off = last.values - first.values - pushed
    spins = _spin_axes(anatomy, jumps)
    for (jump, tree), axes in spins.items():  # a contact that holds the spin may have stopped one
        at = slice(6 * tree + 3, 6 * tree + 6)
        off[jump, at] -= axes.T @ np.linalg.lstsq(axes.T, off[jump, at], rcond=None)[0]
    size = np.maximum(first.sizes, last.sizes) + sizes
    still = (tolerances.JUMP * part + _laid_flat(anatomy, jumps)[:, None]) * size
    allowed = np.where(jumps.steps[:, None], _step_error(anatomy, jumps, size, sizes), still)
    lost = np.where(jumps.steps, tolerances.ROUND_OFF, tolerances.PROJECTED * part)[:, None]
    local = scales.at(anatomy.column_bodies)
    floor = lost * local.momentum * np.where(first.angular, local.size, 1.0)
    known = ~jumps.kick[:, None] & ~_untold(anatomy, jumps, spins)
    text = "{bodies}: the event at {time} s changes the momentum by {amount} {unit} that no impulse explains"
    values = Values.of_table(off, allowed + floor, jumps.begin, jumps.run, known)
    return judge_values("impulses", "N s", first.names, text, values)


def _laid_flat(anatomy: Anatomy, jumps: Jumps) -> FloatArray:
    """Return by how much (m,), rad, events turned bodies onto their faces: up to the tilt that their shapes declare."""
    turned = np.abs(jumps.after.rotation - jumps.before.rotation).max(axis=(1, 2, 3), initial=0.0)
    return np.minimum(turned, anatomy.tilt.max(initial=0.0))


def _step_error(anatomy: Anatomy, jumps: Jumps, size: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return how far momenta (m, columns) may be off after a time step: of what acted, and of what turns meanwhile.

    The momentum of one body is exact: the scheme solves for it. Arms are those of the step's end: what turns fast
    within a step has turned them, too.
    """
    turn = np.max(length(jumps.before.angular_velocity) + length(jumps.after.angular_velocity), axis=1)
    angle = ((jumps.end - jumps.begin) * turn)[:, None]
    turned = angle**2
    bodies = np.bincount(anatomy.tree[(anatomy.tree >= 0) & (anatomy.mass > 0.0)], minlength=anatomy.trees)
    exact = np.append(
        np.repeat(bodies == 1, 6) & np.tile(np.repeat([True, False], 3), anatomy.trees),
        np.zeros(len(anatomy.hinges), dtype=bool),
    )
    arms = np.where(angle > _FAST, angle, tolerances.STEP)
    return arms * sizes + np.where(exact, tolerances.ROUND_OFF, turned) * size


def _add_stops(anatomy: Anatomy, jumps: Jumps, pushed: FloatArray, sizes: FloatArray) -> None:
    """Add the impulses at the ends of joints' ranges, and of their friction."""
    by_body = {anatomy.names[hinge.body]: k for k, hinge in enumerate(anatomy.hinges)}
    for row, contact in enumerate(jumps.contact):
        pair = anatomy.contacts[contact].pair
        if pair.joint is not None and (k := by_body.get(pair.body_A)) is not None:
            push = float(anatomy.contacts[contact].along_joint(jumps.impulse[row]))
            pushed[jumps.jump[row], k] += push
            sizes[jumps.jump[row], k] += abs(push)


def _spin_axes(anatomy: Anatomy, jumps: Jumps) -> dict[tuple[int, int], FloatArray]:
    """Return axes (k, 3) about which contacts of a tree may have stopped a spin, by (jump, tree)."""
    found: dict[tuple[int, int], list[FloatArray]] = {}
    for row in np.flatnonzero(jumps.holds_spin):
        contact = anatomy.contacts[jumps.contact[row]]
        for body in (contact.A, contact.B):
            if anatomy.tree[body] >= 0:
                found.setdefault((int(jumps.jump[row]), int(anatomy.tree[body])), []).append(jumps.normal[row])
    return {key: np.array(axes) for key, axes in found.items()}


def _untold(anatomy: Anatomy, jumps: Jumps, spins: dict[tuple[int, int], FloatArray]) -> Flags:
    """Return which columns (m, columns) something changes that the evidence does not hold."""
    trees = anatomy.trees
    found = np.zeros((len(jumps), 6 * trees + len(anatomy.hinges)), dtype=bool)
    for k, hinge in enumerate(anatomy.hinges, 6 * trees):
        found[:, k] = bool(anatomy.pinned[hinge.body] or anatomy.coupled[hinge.body])
        for jump, tree in spins:
            found[jump, k] |= bool(anatomy.tree[hinge.body] == tree)
    for tree in range(trees):
        found[:, 6 * tree : 6 * tree + 6] = bool(np.any(anatomy.pinned & (anatomy.tree == tree)))
    if anatomy.pushed:
        found[jumps.steps] = True
    return found


def _negligible_impulse(pushes: Pushes, scales: Scales) -> FloatArray:
    """Return which impulse (k,), N s, is none."""
    local = scales.at(pushes.body)
    projected = max(tolerances.PROJECTED, tolerances.DECLARED * pushes.accuracy) * local.momentum
    lever = np.where(pushes.hinged, local.size, 1.0)  # the stop of a hinge pushes with a moment
    ended = lever**2 * tolerances.STICKS * local.mass
    return tolerances.CONE * pushes.largest(pushes.size) + lever * (projected + local.rest * local.mass) + ended


def _adhesion(pushes: Pushes) -> FloatArray:
    """Return the pull (k,), N s, that contacts may bear within a time step."""
    h = (pushes.jumps.end - pushes.jumps.begin)[pushes.jumps.jump]
    return h * np.array([law.adhesion for law in pushes.frictions])


def _pulls(pushes: Pushes, scales: Scales) -> Check:
    """No impulse pulls."""
    off = np.maximum(-pushes.normal - _adhesion(pushes), 0.0)
    text = "{bodies}: the impulse of the event at {time} s pulls with {amount} {unit}"
    return pushes.check(
        "pulling impulses", "N s", text, off, _negligible_impulse(pushes, scales), np.ones(len(off), dtype=bool)
    )


def _cones(pushes: Pushes, scales: Scales, ignored: bool) -> Check:
    """Friction is within mu times the normal impulse."""
    load = np.maximum(pushes.normal + _adhesion(pushes), 0.0)
    off = np.where(np.isinf(pushes.mu), 0.0, np.maximum(pushes.along - np.minimum(pushes.mu, 1e300) * load, 0.0))
    stops = pushes.of_joint & ~pushes.rubs
    off[stops] = pushes.along[stops]
    text = "{bodies}: the impulse of the event at {time} s is {amount} {unit} outside its friction cone"
    known = np.full(len(off), not ignored)
    return pushes.check("cone of impulses", "N s", text, off, _negligible_impulse(pushes, scales), known)


def _turning_bounds(pushes: Pushes, scales: Scales, ignored: bool) -> Check:
    """Moments against turning are within their coefficients times the normal impulse: of rolling, and of spin.

    A viscous moment has no bound.
    """
    load = np.maximum(pushes.normal + _adhesion(pushes), 0.0)
    moments, laws = pushes.jumps.moments, pushes.frictions
    about = np.abs(dot(moments, pushes.axis))
    across = length(moments - dot(moments, pushes.axis)[:, None] * pushes.axis)
    rolling, spin = (np.array([getattr(law, what) for law in laws]) for what in ("rolling", "spin_bound"))
    viscous = np.array([max(law.rolling_viscous, law.drilling_viscous) > 0.0 for law in laws], dtype=bool)
    spin = np.where(spin > 0.0, np.maximum(spin, [law.drilling for law in laws]), 0.0)
    off = np.maximum(np.maximum(across - rolling * load, about - spin * load), 0.0)
    text = "{bodies}: the moment of the event at {time} s is {amount} {unit} beyond its bound"
    known = np.full(len(off), not ignored) & ~viscous & ~pushes.of_joint
    return pushes.check(
        "bound of moments", "N m s", text, off, _negligible_impulse(pushes, scales) * scales.size, known
    )


def _energy(pushes: Pushes, scales: Scales, part: float) -> Check:
    """Contacts give no energy: the work sum L.(v- + v+)/2 on the relative motions is not positive, in each island.

    Within a time step it is Coulomb's law at the end, L.v+ <= 0; what changes v beside the impulses adds half of that.
    """
    jumps, island = pushes.jumps, pushes.island
    turned, moment = pushes.turning, jumps.moments
    work = (dot(jumps.impulse, pushes.before + pushes.after) + dot(moment, turned[0] + turned[1])) / 2
    size = pushes.size * (length(pushes.before) + length(pushes.after)) / 2
    size = size + length(moment) * (length(turned[0]) + length(turned[1])) / 2
    count = int(island.max()) + 1
    total, most = np.bincount(island, work, count), np.bincount(island, size, count)
    driven = np.bincount(island, pushes.size * pushes.driven / 2, count)
    first = np.unique(island, return_index=True)[1]
    jump, contact = jumps.jump[first], jumps.contact[first]
    relative = np.where(jumps.steps, tolerances.STEP, tolerances.ENERGY * part)[jump]
    allowed = np.asarray(relative * most + driven + tolerances.NOTHING * scales.energy, dtype=np.float64)
    text = "{bodies}: the event at {time} s gives {amount} {unit} from nothing"
    off, known = np.maximum(total, 0.0), ~jumps.kick[jump]
    values = Values(off, allowed, contact, jumps.begin[jump], jumps.run[jump], known)
    return judge_values("energy of events", "J", pushes.names, text, values)


def _restitution(pushes: Pushes, scales: Scales, part: float) -> Check:
    """What pushed does not approach any more, and opens with e times the speed of its approach.

    Where that would create energy all coefficients of an event are smaller, as little as keeps the energy. Where a
    contact pushed that did not approach, a blow was passed on: several of them follow each other in one instant, and
    what is left is that nothing approaches; so it is where a body has gone to and fro in a squeeze. Poisson's
    hypothesis says nothing of speeds but that.
    """
    jumps, (before, after) = pushes.jumps, pushes.opening
    laws, local = [pushes.anatomy.contacts[i].pair.restitution for i in jumps.contact], scales.at(pushes.body)
    approach = np.maximum(-before, 0.0)
    newton = np.array([law.hypothesis == "newton" for law in laws], dtype=bool)
    e = np.where(newton, [law.after(v) for law, v in zip(laws, approach, strict=True)], 0.0)
    pushed = pushes.normal > _negligible_impulse(pushes, scales)
    # Without gravity no hop is too low: there, too, what is left of a speed is round-off.
    slow = 10.0 * local.rest + tolerances.NOTHING * local.speed
    wanted = np.where(approach > slow, e * approach, 0.0)
    # The common factor by which an event made its coefficients smaller.
    kept = np.ones(len(jumps))
    bounces = pushed & (wanted > 0.0) & ~pushes.of_joint
    np.minimum.at(kept, jumps.jump[bounces], np.clip(after[bounces] / wanted[bounces], 0.0, 1.0))
    work, size = np.zeros(len(jumps)), np.zeros(len(jumps))
    np.add.at(work, jumps.jump, dot(jumps.impulse, pushes.before + pushes.after) / 2)
    np.add.at(size, jumps.jump, pushes.size * (length(pushes.before) + length(pushes.after)) / 2)
    lossless = np.abs(work) <= 10.0 * tolerances.ENERGY * part * size
    factor = np.where(lossless, kept, 1.0)[jumps.jump]
    passed_on = np.zeros(int(pushes.island.max(initial=-1)) + 1, dtype=bool)
    some = pushes.size > tolerances.CONE * pushes.largest(pushes.size)
    passed_on[pushes.island[some & (approach <= slow)]] = True
    lever = np.where(pushes.hinged, local.size, 1.0)
    speed = pushes.largest(lever * np.maximum(length(pushes.before), length(pushes.after)))
    # What hops too low to be followed is stopped, which moves what bounces beside it.
    most = e * approach + 10.0 * local.rest + _laid_flat(pushes.anatomy, jumps)[jumps.jump] * speed

    def restitution_misfit(alone: Flags) -> FloatArray:
        short = np.maximum(factor * np.where(alone, wanted, 0.0) - after, 0.0)
        return np.where(pushed, short + np.where(alone & newton, np.maximum(after - most, 0.0), 0.0), 0.0)

    alone = ~passed_on[pushes.island]
    off, allowed = restitution_misfit(alone), tolerances.APPROACH * part * speed + tolerances.NOTHING * local.speed
    if np.any(off > allowed):
        off = restitution_misfit(alone & ~_has_neighbouring_impulse(pushes, speed, scales))
    text = "{bodies}: after the event at {time} s the normal velocity is {amount} {unit} off from its restitution"
    return pushes.check("restitution", "m/s", text, off, allowed, ~pushes.of_joint & ~jumps.steps[jumps.jump])


def _has_neighbouring_impulse(pushes: Pushes, speed: FloatArray, scales: Scales) -> Flags:
    """Return which impulses (k,) have others, of a contact of one of their bodies, before or after them in an instant.

    Of these only those of contacts that have pushed shortly before: blows to and fro come faster and faster, and the
    last ones give nothing back. Where a blow runs along a row each contact pushes for the first time, and gives back.
    ``speed`` (k,): the largest one in the island of each.
    """
    jumps, found = pushes.jumps, np.zeros(len(speed), dtype=bool)
    contacts, size = pushes.anatomy.contacts, scales.sizes[pushes.body]
    shift = 1
    while shift < len(found):
        one, other = slice(None, -shift), slice(shift, None)
        apart = jumps.begin[jumps.jump[other]] - jumps.begin[jumps.jump[one]]
        soon = apart * np.maximum(speed[one], speed[other]) <= tolerances.INSTANT * np.minimum(size[one], size[other])
        soon &= jumps.run[jumps.jump[other]] == jumps.run[jumps.jump[one]]
        others = (jumps.contact[one] != jumps.contact[other]) & (jumps.jump[one] != jumps.jump[other])
        if not soon.any():
            break
        for k in np.flatnonzero(soon & others).tolist():
            sides = [{contacts[jumps.contact[i]].A, contacts[jumps.contact[i]].B} for i in (k, k + shift)]
            if any(pushes.anatomy.moves[body] for body in sides[0] & sides[1]):
                found[[k, k + shift]] = True
        shift += 1
    for k in np.flatnonzero(found).tolist():
        found[k] = _pushed_before(jumps, k, float(speed[k]), tolerances.SHORTLY * float(size[k]))
    return found


def _pushed_before(jumps: Jumps, k: int, speed: float, way: float) -> bool:
    """Return whether the contact of the impulse `k` pushed in another event, by a `way` (m) at a speed (m/s) before."""
    same = (jumps.contact[:k] == jumps.contact[k]) & (jumps.jump[:k] != jumps.jump[k])
    number = jumps.jump[:k][same]
    same_run = jumps.run[number] == jumps.run[jumps.jump[k]]
    return bool(np.any(same_run & ((jumps.begin[jumps.jump[k]] - jumps.begin[number]) * speed <= way)))


def _bystanders(pushes: Pushes, scales: Scales, part: float, ignored: bool) -> Check:
    """An event moves nothing that no contact joins to a blow: in an island where nothing approaches nothing changes.

    A slip that friction without limit stops at once is a blow of its own.
    """
    jumps, count = pushes.jumps, int(pushes.island.max()) + 1
    fastest, blow = np.zeros(count), np.zeros(count)
    lever = np.where(pushes.hinged, scales.at(pushes.body).size, 1.0)
    np.maximum.at(fastest, pushes.island, lever * length(pushes.before))
    np.maximum.at(blow, pushes.island, -pushes.opening[0])
    least = (tolerances.APPROACH * part * fastest)[pushes.island] + tolerances.NOTHING * scales.at(pushes.body).speed
    still = (blow[pushes.island] <= least) & ~np.isinf(pushes.mu)
    off = np.where(still, pushes.size, 0.0)
    text = "{bodies}: an impulse of {amount} {unit} at {time} s, where nothing approaches"
    allowed = _negligible_impulse(pushes, scales)
    known = ~jumps.steps[jumps.jump] & (not ignored)
    return pushes.check("bystanders", "N s", text, off, allowed, known)
