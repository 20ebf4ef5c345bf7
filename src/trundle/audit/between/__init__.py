"""Between samples: balances over intervals, integrals of what is known at samples, and paths from one to the next."""

from __future__ import annotations

from trundle.audit.between.balance import balance_checks
from trundle.audit.between.paths import PathPose, Paths, Side

__all__ = ["PathPose", "Paths", "Side", "balance_checks"]
