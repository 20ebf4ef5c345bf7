"""Events of hybrid simulation: detection, and the transition that each one causes.

`contact_detection` and `recontact` find touch-downs that no margin sees; `transitions` holds the table `Ending` ->
transition and its `EventHandler`, `turning` decides what rolling resistance and drilling friction hold and let go.
`impact` and `bouncing` let several contacts stick, slide and part at once; `coulomb` solves Coulomb's law for them.
`time_stepping` goes on where events do not decide, `chart_transition` hands a contact to the next chart.
"""

from __future__ import annotations

from trundle.simulate.events.contact_detection import ContactDetector, PairDetector
from trundle.simulate.events.transitions import Event, EventHandler, HybridState, no_onsets

__all__ = [
    "ContactDetector",
    "Event",
    "EventHandler",
    "HybridState",
    "PairDetector",
    "no_onsets",
]
