"""Integration through events and modes, and the record of what happened."""

from trundle.arguments import guard
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.many.many import simulate_many
from trundle.simulate.many.result import Runs
from trundle.simulate.restart import start_at
from trundle.simulate.run import simulate
from trundle.simulate.sensitivity.backward import Gradient, gradient
from trundle.simulate.sensitivity.forward import Sensitivities, sensitivities
from trundle.simulate.sensitivity.identify import Identification, identify
from trundle.simulate.sensitivity.pieces import Measured
from trundle.simulate.wrappers import Delayed, FunctionPolicy, Noisy

__all__ = [
    "Delayed",
    "FunctionPolicy",
    "Gradient",
    "Identification",
    "LinearFeedback",
    "Measured",
    "Noisy",
    "Runs",
    "Sensitivities",
    "gradient",
    "identify",
    "sensitivities",
    "simulate",
    "simulate_many",
    "start_at",
]

guard(__name__)
