"""Where two bodies touch and the law of the touch."""

from trundle.arguments import guard
from trundle.contact.law import Friction
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.contact.soft import SoftLaw, SoftTouch, normal_force
from trundle.contact.walls import Wall

__all__ = ["FlatPatch", "Friction", "PlacedPatch", "SoftLaw", "SoftTouch", "Wall", "normal_force"]

guard(__name__)
