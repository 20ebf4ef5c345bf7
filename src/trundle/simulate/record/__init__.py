"""What a run leaves: its log while it runs, and the `Trajectory` made of it at the end.

`log` keeps segments and transitions; `recorder.record` evaluates the outputs of every segment and makes arrays of them:
of a pair in space (`pair`) or in the plane (`plane`), of trees (`tree`). `contacts` has what all of these share,
`scene` the shapes and bodies that a viewer needs.
"""

from __future__ import annotations

from trundle.simulate.record.log import Log, Segment
from trundle.simulate.record.recorder import record

__all__ = ["Log", "Segment", "record"]
