"""Coulomb's law at several contacts at once: the cone complementarity problem of impulses and velocities after them.

`contacts` states the problem and judges answers by mechanics alone; `natural_map` finds answers from a guess near them
(Newton), `proximal` comes near them from anywhere, `least` chooses among the impulses of redundant contacts, and
`impulses` leads from one to the next, an island of contacts at a time. `existence` proves whether there are answers.
"""

from trundle.simulate.events.coulomb.contacts import ContactImpulses
from trundle.simulate.events.coulomb.existence import has_answer
from trundle.simulate.events.coulomb.impulses import contact_impulses

__all__ = ["ContactImpulses", "contact_impulses", "has_answer"]
