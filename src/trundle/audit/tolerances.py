"""Tolerances: by how much each law may be missed, the same for all runs. Relative to what there is in the run itself.

Accuracies add up: what a run declares (the tolerance of its integrator) counts with a factor, `DECLARED`.
"""

from __future__ import annotations

GAP = 5e-6
"""Part of the size of the smaller body that two bodies may overlap: a touch is located to 1e-7 m where a body returns
at once, and time steps let a gap drift by their step squared."""

INSTANT = 1e-9
"""Part of the size of a body that it goes between two blows of one instant: no gap is known better."""

SHORTLY = 1e-6
"""The same between two blows of one contact in a squeeze, in which a body goes to and fro faster and faster."""

OPEN = 5e-5
"""Part of the size of the smaller body from which two bodies are apart: nothing pushes across such a gap. Ten times
`GAP`, so that no gap is both."""

MOTION = 1e-8
"""Part of the distance (m) and of the turn (1) between two samples, and of the body's size, by which poses may miss
what the velocities say. Ten thousand times round-off; a thousand times what an integration at 1e-11 loses."""

MOMENTUM = 1e-6
"""Part of the momenta and impulses between two samples by which they may differ: forces come from a linear solve that
keeps 1e-9 of the largest one where contacts share a load."""

JUMP = 1e-7
"""The same over an event: impulses are solved to 1e-9 of the largest one."""

STEP = 1e-3
"""The same over a time step: the scheme is of second order and steps turn a body by up to some 0.1 rad."""

DECLARED = 1e3
"""How many times the accuracy that a run declares its results may be off: errors of steps add up over a stretch."""

CONE = 1e-6
"""Part of a contact's force by which it may leave its friction cone, or pull: weights of a redundant load are shared to
1e-7."""

PULL = 1e-7
"""Part of the weight of the whole model that is no force."""

STICKS = 2e-9
"""m/s, rad/s: a slip that is so slow has ended, which takes an impulse."""

SLIP = 1e-6
"""Slip (of the fastest speed in the run) from which it has a direction that friction opposes: slips end at 1e-9 m/s."""

APPROACH = 1e-6
"""Part of the fastest speed at an event with which a contact may still approach after it, or miss its restitution."""

ENERGY = 1e-6
"""Part of the energies at an event, or between samples, that may come from nothing."""

REST = 5e-5
"""Part of the speed of a fall over the largest body's size that an event may take from all bodies: rocking and bouncing
have no end in time, so what is slower than that is ended."""

HOP, SMALL = 4e-8, 0.1
"""Height, in sizes, of a hop that may be ended as well, where a gap is looked for: twice the engine's. m: what is
smaller counts as so large, as gaps are known to 1e-10 m."""

QUADRATURE = 15.0
"""How many times the difference of two quadratures (six nodes and four) a balance between samples may be off."""

CUSP = 2.0
"""How many times more it may be off where a shape has curvatures without end (a superellipsoid with an exponent under
two): there forces have cusps, of which the quadrature misses up to 26 times that difference (of |t|^(1/5))."""

JUDGED = 2e-3
"""Part of what changes between two samples up to which the error of its quadrature may be for it to count as judged."""

UNIT = 1e-9
"""How far the length of a quaternion, or of a rotation's columns, may be from one."""

NOTHING = 1e-10
"""Part of the momentum, energy and speed of a whole run under which nothing counts."""

PROJECTED = 1e-6
"""Part of the momentum of all bodies at the fastest speed that a projection onto the constraints may move."""

BLUR = 1e-8
"""Slip (of the fastest speed in the run) at which its direction is that of the slip's beginning as much as its own."""

DRIFT = 1e-2
"""Part of the size of the smaller body that a gap may drift where nothing puts it back: without stabilization, or by
Baumgarte's."""

ROUND_OFF = 1e-11
"""Part of the momentum of a whole run that linear solves lose."""
