"""Where two bodies touch and the law of the touch."""

from trundle.contact.patch import FlatPatch, PlacedPatch

__all__ = ["FlatPatch", "PlacedPatch"]
