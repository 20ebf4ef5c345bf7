"""Shapes: how far two whole shapes are apart at many poses, from numbers of each alone."""

from __future__ import annotations

from trundle.audit.shapes.separation import Gaps, Poses, gaps
from trundle.audit.shapes.solids import Solid, solid_of

__all__ = ["Gaps", "Poses", "Solid", "gaps", "solid_of"]
