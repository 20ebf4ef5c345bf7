"""Events of hybrid simulation: detection, and the transition that each one causes.

`contact_detection` and `recontact` find touch-downs that no margin sees; `transitions` holds the table `Ending` ->
transition and its `EventHandler`, `turning` what rolling resistance and drilling friction stop and let go. Impacts are
in `impact`, which falls back on `impact_sets` (enumeration) and `impact_cone` (projection); `mode_selection` chooses
the laws of several contacts from their forces and accelerations, `chart_transition` hands a contact to the next chart,
`chatter` ends runs that make no progress.
"""

from __future__ import annotations

from trundle.simulate.events.chatter import chatters, cycles
from trundle.simulate.events.contact_detection import ContactDetector, PairDetector
from trundle.simulate.events.recontact import recontact
from trundle.simulate.events.transitions import Event, EventHandler, HybridState

__all__ = [
    "ContactDetector",
    "Event",
    "EventHandler",
    "HybridState",
    "PairDetector",
    "chatters",
    "cycles",
    "recontact",
]
