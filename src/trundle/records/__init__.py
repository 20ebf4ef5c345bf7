"""Records: what a run leaves behind, and what a controller looks like. No physics."""

from __future__ import annotations

from trundle.arguments import guard
from trundle.records.plan import Plan, load_plan
from trundle.records.policy import ContactSensing, Policy, tell_contacts
from trundle.records.reference import Reference
from trundle.records.scenebodies import SceneBody
from trundle.records.trajectory import ModeSamples, Trajectory, load_trajectory
from trundle.records.trials import column, read_trials, with_trials
from trundle.records.variables import Variable, View, make_dataset
from trundle.records.views import PAIR, ROBOT, tree_view

__all__ = [
    "PAIR",
    "ROBOT",
    "ContactSensing",
    "ModeSamples",
    "Plan",
    "Policy",
    "Reference",
    "SceneBody",
    "Trajectory",
    "Variable",
    "View",
    "column",
    "load_plan",
    "load_trajectory",
    "make_dataset",
    "read_trials",
    "tell_contacts",
    "tree_view",
    "with_trials",
]

guard(__name__)
