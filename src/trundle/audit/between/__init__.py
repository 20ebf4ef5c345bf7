"""Between samples: balances over intervals, integrals of what is known at samples, and paths from one to the next."""

from __future__ import annotations

from trundle.audit.between.balance import balance_checks
from trundle.audit.between.paths import Paths, Pose, Side

__all__ = ["Paths", "Pose", "Side", "balance_checks"]
