"""Redundant contacts: of all impulses with the same velocities, those with the least sum of squares."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import Contacts


def least_impulses(scaled: Contacts, unit: FloatArray, L: FloatArray) -> FloatArray:
    """Return the impulses (m, d)."""
    return L
