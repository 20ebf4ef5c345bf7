"""Preview control of a centre of mass (paper 3): a quadratic program over the contacts ahead.

`Preview` makes a `window` (samples, contacts in slots, resets, references) of a forecast, writes its numbers into the
`program` that is kept for its layout (`persistent` solves one of a fixed pattern again and again), and returns the
`PreviewPlan` that the wrenches imply.
"""

from trundle.systems.multicontact.preview.plan import PreviewPlan
from trundle.systems.multicontact.preview.preview import Preview, PreviewWeights
from trundle.systems.multicontact.preview.window import ReferencePath

__all__ = [
    "Preview",
    "PreviewPlan",
    "PreviewWeights",
    "ReferencePath",
]
