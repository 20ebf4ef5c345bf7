"""Integration through events and modes, and the record of what happened."""

from trundle.simulate.run import simulate

__all__ = ["simulate"]
