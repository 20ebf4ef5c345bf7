"""Contact mode and integration method: what a compiled mode is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from trundle.contact.laws import LAWS, SEPARATED, SLIDING
from trundle.models.tree.system import Atlas
from trundle.parameters import Checked, Range, parameter

Tolerance = Annotated[float, Range("a number from 1e-14 to 1e-2", 1e-14, 1e-2)]
Stabilization = Literal["projection", "baumgarte", "none"]

_BAUMGARTE = 10.0
"""Feedback (1/s) of ``stabilization="baumgarte"``."""


@dataclass(frozen=True)
class Mode:
    """Names of the laws (one a contact), the charts in use, and whether the body rests on its contacts for good."""

    laws: tuple[str, ...]
    atlas: Atlas
    rest: bool = False

    @property
    def label(self) -> str:
        """What the record calls this mode: ``rest``, or the laws of the contacts that touch."""
        if self.rest:
            return "rest"
        touching = [name for name in self.laws if LAWS[name].touching]
        return " + ".join(touching) if touching else SEPARATED.name


@dataclass(frozen=True)
class Method(Checked):
    """How to integrate.

    Attributes
    ----------
    name : str
        ``dop853``, ``dopri5`` or ``rk4``.
    step : float s, or None
        Fixed step.
    relative_tolerance : float
    stabilization : "projection", "baumgarte" or "none"
    """

    name: str = "dop853"
    step: float | None = parameter(None, "s, of the fixed-step integrator; 0.001 unless relative_tolerance is given")
    relative_tolerance: Tolerance = parameter(1e-11, "of the adaptive integrator")
    stabilization: Stabilization = parameter("projection", "what keeps slip and gap at zero")

    @property
    def feedback(self) -> float:
        """Gain (1/s) on gaps, slips and coordinates that drift along an integration (theory, "Drift")."""
        return _BAUMGARTE if self.stabilization == "baumgarte" else 0.0

    @property
    def end_speed(self) -> float:
        """Slip speed (m/s) under which a slip that was clearly more counts as over: the errors of its integration.

        In space a slip that ends passes zero at such a distance instead of crossing it; closer its direction turns
        faster than any step can follow. 0 for accurate runs, which come close enough to see it end.
        """
        return 50.0 * self.relative_tolerance if self.step is None and self.relative_tolerance > 1e-10 else 0.0

    @property
    def beginning_slip(self) -> float:
        """Slip speed (m/s) with which the direction of a slip's beginning is weighted: see `Sliding.onset`."""
        return max(SLIDING.stick_speed, self.end_speed / 10.0)
