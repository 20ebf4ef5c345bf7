"""Integration through events and modes, and the record of what happened."""

from trundle.arguments import guard
from trundle.simulate.restart import start_at
from trundle.simulate.run import simulate
from trundle.simulate.wrappers import Delayed, Noisy

__all__ = ["Delayed", "Noisy", "simulate", "start_at"]

guard(__name__)
