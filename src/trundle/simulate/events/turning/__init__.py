"""Contacts that resist their turning: rolling resistance and drilling friction, beside a slip or without one.

`held` says which turnings are zero and held at once; `decision` decides from accelerations, for all contacts that
touch, what is held and what starts; `resistances` is what time steps know of the moments.
"""

from trundle.simulate.events.turning.decision import Given, decide_contacts, press_joints, resists, takes_part
from trundle.simulate.events.turning.held import held_laws, without
from trundle.simulate.events.turning.resistances import Resistances

__all__ = ["Given", "Resistances", "decide_contacts", "held_laws", "press_joints", "resists", "takes_part", "without"]
