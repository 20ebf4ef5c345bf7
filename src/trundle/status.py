"""One status enum for simulations, plans and solvers; its value is advice to the user."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a computation ended. ``label`` is what files and the command line print.

    Examples
    --------
    >>> tr.Status.SUCCESS.label
    'success'
    >>> tr.Status.from_label("success") is tr.Status.SUCCESS
    True
    """

    SUCCESS = ""
    LIMIT_VIOLATED = "the run ended, but a metric is outside its limit: see 'metrics' in summary.json"
    INFEASIBLE = (
        "the run reached its end, but the contact pulled or left its friction bounds on the way and on_slip or "
        "on_separation = 'ignore' let it go on: the forces are not ones that a real contact can give; raise "
        "contact.friction, move less abruptly, or let the object slide and fly"
    )
    INCONSISTENT = (
        "the audit found that the run breaks a law of physics: see 'audit' for bodies, time and amount; shorten the "
        "run to before that time, and please report the model"
    )
    SEPARATED = (
        "the contact force reached zero and the bodies came apart: press harder, move the hand less abruptly, "
        "or let the object fly with contact.on_separation = 'fly'"
    )
    SLIPPED = (
        "the contact force left the friction cone: raise contact.friction, or let the contact slide "
        "with contact.on_slip = 'slide'"
    )
    SPUN = (
        "the torsional moment left its bound: raise contact.torsional_friction, or use the law 'rolling', "
        "which lets the contact spin"
    )
    OFF_THE_HAND = "the contact left the hand's extent: enlarge hand.extent or change the motion"
    OFF_THE_SURFACE = "the contact left the region where the measured surface or curve has data"
    NOT_A_POINT_CONTACT = (
        "the bodies touch along a line or a face, where no single contact point exists: start elsewhere, "
        "or round the shape"
    )
    CURVATURE_LOCKED = (
        "the relative curvature reached zero: the bodies conform and the contact point jumps; "
        "use a rounder object or a flatter hand"
    )
    SECOND_CONTACT = (
        "a further point touched, and which contacts roll, slide or open then is not decided: round the ground's "
        "corners and the bodies, move more slowly, set contact.on_slip = 'slide' and contact.on_separation = 'fly', or "
        "lower contact.friction"
    )
    JAMMED = (
        "no motion - rolling, sliding, coming apart - agrees with this much friction (Painleve's paradox): lower "
        "contact.friction"
    )
    PENETRATION = "the bodies overlap: move the start, or check the shapes' outward sides"
    FELL = "the robot fell: push it less, or raise the controller's limits or gains"
    DIVERGED = (
        "feedback lost what it controls, or drives it faster without end: check the signs of its gains, lower its "
        "delay, period, noise, errors or weights (controller.final, controller.state), or, if it is that far from its "
        "reference on purpose, raise controller.lost"
    )
    SAFE_STOP = (
        "what the controller measured, or its answers, were bad for longer than its watchdog waits: it let go; see the "
        "reason, mend the sensor, or raise the watchdog's patience"
    )
    REST = "the body came to rest"
    STEP_TOO_SMALL = "the integrator's step shrank to round-off: loosen relative_tolerance, or look for a stiff contact"
    TOO_MANY_STEPS = "the step limit was reached: shorten the run or loosen relative_tolerance"
    NOT_FINITE = "a value became infinite or not a number: check the start and the inputs"
    LOCALLY_INFEASIBLE = (
        "no motion near the guess keeps all limits: allow more time, widen the limits, or start from another guess"
    )
    GOAL_NOT_REACHED = (
        "the plan, replayed accurately, or the motion under the controller misses the goal: allow more nodes or "
        "refinements, a longer duration, or a stronger controller"
    )
    START_INFEASIBLE = "the start itself breaks a limit, slips or pulls: change the start, the friction or the limits"
    OVERDETERMINED = "there are more conditions than unknowns: drop end conditions, or free inputs or durations"
    ITERATION_LIMIT = "the iteration limit was reached: raise max_iterations, or go on from the saved attempt"
    TIME_LIMIT = "the time limit was reached: raise it, or go on from the saved attempt"
    NOT_OPTIMAL = "the motion keeps all limits, but the solver could not make it the cheapest: loosen the tolerance"
    NOT_CONVERGED = "the solver's answer does not hold when recomputed: start from another guess, or scale the problem"
    LIMITS_RELAXED = (
        "not all limits could hold together: those with a price were exceeded by the least amount; "
        "see what was given up"
    )
    CONFLICTING_LIMITS = "the limits contradict each other: widen or drop one that is named, or let it be given up"
    UNBOUNDED = "the cost falls without end: bound the inputs or give them a cost"
    INTERRUPTED = "interrupted; what was computed until then is saved"
    FAILED = "the computation ended without a result"

    @property
    def label(self) -> str:
        """Lower-case name with hyphens, as printed in ``summary.json``."""
        return self.name.lower().replace("_", "-")

    @property
    def advice(self) -> str:
        """What to do about it; empty for success."""
        return self.value

    @classmethod
    def from_label(cls, label: str) -> Status:
        """Inverse of `label`."""
        return cls[label.upper().replace("-", "_")]
