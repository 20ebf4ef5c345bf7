"""Preview control of a centre of mass (paper 3): a quadratic program over the contacts ahead.

`Preview` makes a `window` (samples, contacts in slots, resets, references) of a forecast, writes its numbers into the
`program` that is kept for its layout, solves it, and returns the `PreviewPlan` that the wrenches imply.
"""

from trundle.control.preview.plan import PreviewPlan
from trundle.control.preview.preview import Preview, PreviewWeights
from trundle.control.preview.window import ReferencePath

__all__ = [
    "Preview",
    "PreviewPlan",
    "PreviewWeights",
    "ReferencePath",
]
