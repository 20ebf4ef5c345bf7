"""An independent judge of recorded runs: what physics says of poses, velocities and forces, and nothing else.

`scene` has what it is told, `shapes`, `grounds` and `gaps` its own geometry, `overlap`, `impulses`, `energy` and
`forces` a law each, `judge` all of them, `amounts` by how much. It knows no engine and no contact coordinates.
"""

from __future__ import annotations

from .amounts import Amounts, measure
from .judge import judge
from .scene import (
    Contact,
    Event,
    Finding,
    Gear,
    Joint,
    Link,
    Motion,
    Pair,
    Pin,
    Pushes,
    Scene,
    Shape,
    Soft,
)

__all__ = ["Amounts", "Contact", "Event", "Finding", "Gear", "Joint", "Link", "Motion", "Pair", "Pin", "Pushes",
           "Scene", "Shape", "Soft", "judge", "measure"]  # fmt: skip
