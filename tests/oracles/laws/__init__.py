"""An independent judge of recorded runs: what physics says of poses, velocities and forces, and nothing else.

`scene` has what it is told, `shapes`, `grounds` and `gaps` its own geometry, `overlap`, `impulses`, `energy` and
`forces` a law each, `judge` all of them. It knows no engine and no contact coordinates.
"""

from __future__ import annotations

from .judge import judge
from .scene import Contact, Event, Finding, Joint, Link, Motion, Pair, Scene, Shape

__all__ = ["Contact", "Event", "Finding", "Joint", "Link", "Motion", "Pair", "Scene", "Shape", "judge"]
