"""One fuzz case: load a file, and say what is wrong with what happened (nothing, for an acceptable outcome)."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import tomllib
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trundle.errors import InputError
from trundle.scenarios import build, load_scenario
from trundle.scenarios.engine.building import Simulation

SECONDS = 20.0  # for one case: shapes are checked on thousands of samples, once in C, once on a cold start
LINES = 6
LENGTH = 3000

BASES: dict[str, dict[str, Any]] = {
    "plate": {
        "schema": 1,
        "kind": "juggling",
        "task": "simulate",
        "title": "a ball",
        "object": {
            "shape": {"type": "sphere", "radius": 0.2},
            "mass": 0.1,
            "inertia": "solid",
            "center_of_mass": [0.0, 0.0, 0.0],
        },
        "hand": {
            "shape": {"type": "plane"},
            "position": [0.0, 0.0, 0.0],
            "rpy": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 7.0],
            "velocity": [0.0, 0.0, 0.0],
            "extent": [1.0, 1.0],
            "motion": {"type": "coast"},
        },
        "contact": {
            "law": "rolling",
            "friction": 1.0,
            "torsional_friction": 0.0,
            "on_slip": "stop",
            "on_separation": "stop",
        },
        "initial": {
            "contact_on_hand": [0.0, 0.0, 0.0],
            "object_quaternion": [1.0, 0.0, 0.0, 0.0],
            "object_angular_velocity": [1.0, 0.0, 0.0],
        },
        "simulation": {
            "gravity": [0.0, 0.0, -9.81],
            "duration": 10.0,
            "output_step": 0.01,
            "relative_tolerance": 1e-10,
        },
    },
    "dish": {
        "kind": "juggling",
        "task": "simulate",
        "object": {
            "shape": {"type": "ellipsoid", "semi_axes": [0.05, 0.04, 0.03]},
            "mass": 1,
            "inertia": [1e-3, 2e-3, 2.5e-3],
        },
        "hand": {
            "shape": {"type": "dish", "semi_axes": [0.5, 0.4, 0.3]},
            "motion": {"type": "sinusoid", "amplitude": [0, 0, 0, 1.0, 0, 0], "frequency": [1.0] * 6},
        },
        "initial": {"contact_on_hand": [0.2, 0.1, -0.26]},
        "parts": {"pure": {"contact": {"law": "pure-rolling"}}},
    },
    "torus": {
        "kind": "juggling",
        "task": "simulate",
        "object": {"shape": {"type": "torus", "major": 0.1, "minor": 0.03}, "mass": 0.5},
        "hand": {"shape": {"type": "heightmap", "file": "good.csv"}},
    },
    "butterfly": {
        "kind": "juggling",
        "task": "simulate",
        "object": {"shape": {"type": "circle", "radius": 0.0166}, "mass": 0.05, "inertia": 5e-6},
        "hand": {
            "shape": {"type": "fourier", "radius": 0.11, "cos": [0.0, -0.36]},
            "position": [0.0, 0.0, 0.5],
            "angle": 1.57,
            "angular_velocity": -0.5,
            "velocity": [0.1, 0.0, 0.0],
            "motion": {"type": "coast"},
        },
        "contact": {"friction": 0.8},
        "initial": {
            "contact_on_hand": [0.07, 0.0, 0.0],
            "object_angle": 0.2,
            "object_angular_velocity": [0.0, 1.0, 0.0],
        },
    },
    "transfer": {
        "kind": "juggling",
        "task": "transfer",
        "object": {"shape": {"type": "sphere", "radius": 0.035}, "mass": 0.216, "inertia": "solid"},
        "hand": {"shape": {"type": "plane"}, "extent": [1.0, 1.0]},
        "contact": {"law": "rolling", "friction": 0.5},
        "goal": {
            "contact_on_hand": [0.0, -0.033, 0.0],
            "object_quaternion": [0.7071067811865476, 0.7071067811865476, 0.0, 0.0],
            "hand_rpy": [0.0, 0.0, 0.0],
        },
        "limits": {"freedoms": ["wx", "wy"], "angular_acceleration": 50.0, "tilt": 1.0, "velocity": 2.0},
        "cost": {"acceleration": 1.0, "tilt": 0.1},
        "plan": {"duration": [1.0, 2.0], "nodes": 25, "coarse_nodes": 50, "starts": 2, "method": "trapezoid"},
        "controller": {
            "period": 0.001,
            "hold": 0.5,
            "final": 1000.0,
            "state": {"contact": 1e4, "object_rotation": 10.0},
            "input": {"hand_angular_acceleration": 1e-3},
        },
        "offset": {"contact": [0.0032, 0.0024, 0.0], "rotation": [0.03, 0.03, 0.03]},
        "noise": {"camera_period": 0.004, "camera_delay": 0.004, "position_sigma": 1e-4, "angle_sigma": 1e-3},
        "trials": {"count": 2, "semi_axes": 0.05, "inertia": 0.05, "center_of_mass": 1e-3, "linear_bias": 0.05},
    },
    "balance": {
        "kind": "juggling",
        "task": "balance",
        "object": {"shape": {"type": "ellipse", "semi_axes": [0.0377, 0.0252]}, "mass": 0.0553},
        "hand": {"shape": {"type": "line"}, "extent": 0.375},
        "initial": {"contact_on_hand": [0.0, 0.0, 0.0], "object_angle": 0.4},
        "goal": {"contact_on_hand": [0.0, 0.0, 0.0], "object_angle": 0.0},
        "limits": {"freedoms": "all", "angular_acceleration": 10.0, "linear_acceleration": 10.0},
        "controller": {"period": 0.001, "state": {"hand_rotation": 20.0}, "rolled": "rotation"},
        "noise": {"camera_period": 0.004},
        "trials": {"count": 1, "angle_sigma": 0.01, "open_loop": False},
    },
    "ellipse": {
        "kind": "planar",
        "task": "simulate",
        "body": {"curve": {"type": "ellipse", "semi_axes": [0.25, 0.12]}, "mass": 1.0, "inertia": 0.02},
        "terrain": {"curve": {"type": "sinusoid", "amplitude": 0.06, "wavelength": 0.8, "phase": 0.0}},
        "contact": {"friction": 1.0, "on_slip": "ignore", "on_separation": "stop"},
        "initial": {"contact_x": 0.3, "angle": 0.4, "angular_velocity": 0.0},
        "simulation": {"gravity": 9.81, "duration": 10.0, "output_step": 0.01, "step": 0.001},
    },
    "recover": {
        "kind": "wallbounce",
        "task": "recover",
        "walls": [{"point": [0.5, 0.0, 0.0], "normal": [-1.0, 0.0, 0.0]}],
        "trials": {"count": 2, "impulse": [18.0, 32.0]},
        "simulation": {"duration": 4.0, "output_step": 0.01},
    },
    "rock": {
        "kind": "planar",
        "task": "simulate",
        "body": {
            "curve": {"type": "fourier", "radius": 0.3, "cos": [0.0, 0.1, 0.02], "sin": [0.0, 0.02, -0.015]},
            "mass": 1.0,
            "inertia": 0.045,
        },
        "terrain": {
            "curve": {
                "type": "sum",
                "terms": [{"type": "parabola", "curvature": 0.1}, {"type": "line", "slope": 0.1, "offset": 0.2}],
            }
        },
        "simulation": {"relative_tolerance": 1e-9, "stabilization": "none"},
    },
    "cart": {
        "kind": "planar",
        "task": "track",
        "bodies": [
            {"name": "base", "mass": 20.0, "inertia": 1.2},
            {
                "name": "rear",
                "parent": "base",
                "at": [-0.4, -0.2],
                "mass": 1.0,
                "curve": {"type": "circle", "radius": 0.12},
            },
            {
                "name": "front",
                "parent": "base",
                "at": [0.4, -0.2],
                "mass": 1.0,
                "friction": 0.7,
                "curve": {"type": "ellipse", "semi_axes": [0.13, 0.11]},
            },
        ],
        "terrain": {"curve": {"type": "line", "slope": 0.1}},
        "contact": {"friction": 0.8, "on_slip": "slide", "on_separation": "fly"},
        "initial": {"positions": {"base": [0.0, 0.33, 0.0]}, "tolerance": 0.1},
        "controller": {
            "period": 0.01,
            "torque_limit": 40.0,
            "friction_share": 0.9,
            "slip": {"speed": 0.05},
            "tasks": [
                {"name": "speed", "type": "position", "body": "base", "kd": 6.0, "ki": 2.0, "active": "touching"},
                {"name": "spin", "type": "joint", "body": "rear", "kd": 9.0, "active": "apart", "contacts": ["rear"]},
            ],
        },
        "reference": {"speed": {"type": "ramp", "rate": 0.6}},
        "noise": {"angle": 1e-3, "delay": 0.004, "contact_delay": 0.01},
        "estimator": {"enabled": False, "body": "base"},
        "faults": {"begin": 0.1, "end": 0.4, "nan": 0.1, "late": 0.01, "bias": [0.1, 0.2], "entries": [0, 2]},
        "watchdog": {"patience": 0.1, "stop": "hold"},
        "plant": {
            "mass": 1.05,
            "center_of_mass": {"base": [0.02, -0.01]},
            "curve_size": {"rear": 1.02},
            "terrain": {"type": "sinusoid", "amplitude": 0.01, "wavelength": 2.0},
            "joint_damping": 0.1,
            "joint_friction": 0.2,
            "actuator_gain": 0.95,
            "actuator_bias": 0.3,
            "actuator_limit": 30.0,
        },
    },
    "walker": {
        "kind": "planar",
        "task": "walk",
        "walker": {"leg": 0.9, "foot_radius": 0.27, "hip_mass": 40.0, "leg_mass": 12.0, "slope": 0.01},
        "contact": {"friction": 0.8},
        "cycle": {"durations": [2.1, 2.9], "twin_durations": [1.6, 2.1], "nodes": 20, "angle": 0.2},
        "initial": {"error": 0.02},
        "trials": {"count": 4, "errors": [0.01, 0.1], "strides": 8},
        "simulation": {"strides": 6, "output_step": 0.01, "relative_tolerance": 1e-9},
    },
    "stander": {
        "kind": "multicontact",
        "task": "stand",
        "robot": {"name": "g1", "lowered": 0.01},
        "mass_factors": [1.0],
        "obstacles": [
            {"name": "post", "shape": {"type": "capsule", "radius": 0.04, "length": 0.8}, "center": [0.6, 0.3, 0.6]},
            {
                "name": "lamp",
                "shape": {"type": "sphere", "radius": 0.1},
                "center": [0.0, 0.0, 1.7],
                "against": ["head"],
            },
            {"name": "wall", "shape": {"type": "half-space"}, "center": [1.0, 0.0, 0.0], "rpy": [0.0, -1.5, 0.0]},
            {"name": "shelf", "shape": {"type": "box", "size": [0.2, 0.2, 0.1]}, "center": [0.4, -0.5, 0.8]},
        ],
        "pushes": {"fore_aft": [2.0, 5.0], "lateral": [4.0], "axes": ["lateral", "fore-aft"], "start": 0.5},
        "controller": {"gains": {"com_kp": 50.0, "friction": 0.5}, "preview": {"use": False}},
        "noise": {"position": 1e-3, "delay": 0.004},
        "simulation": {"output_step": 0.02, "settle": 1.0},
    },
    "stepper": {
        "kind": "multicontact",
        "task": "walk",
        "steps": {"count": 3, "length": 0.1, "single": 0.7, "lift": 0.05, "sway": 0.7},
        "trials": {"count": 2, "mass_factors": [0.98, 1.02]},
        "controller": {"period": 0.004, "gating": {"force": 10.0}, "preview": {"period": 0.02, "position": 20.0}},
        "plant": {"friction": 0.7, "fallen_tilt": 0.9},
        "parts": {"longer": {"steps": {"length": 0.12}}},
    },
    "mover": {
        "kind": "multicontact",
        "task": "walk",
        "terrain": {"blocks": [{"name": "rail", "center": [0.3, -0.38, 0.61], "size": [1.0, 0.1, 0.06]}]},
        "moves": [
            {"end": "right_hand", "place": [0.15, -0.38], "support": "rail", "start": 1.1, "release": 5.0},
            {"end": "right_foot", "place": [0.08, -0.12], "yaw": -0.1, "duration": 0.7, "lift": 0.05},
        ],
        "forces": [
            {"force": [8.0, 0.0, 0.0], "point": [0.0, 0.0, 0.1], "start": 1.0, "duration": 1.5},
            {"force": [0.0, 4.0, 0.0], "known": False},
        ],
        "controller": {
            "preview": {
                "samples": [0.05, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5],
                "axis": [0.1, 0.0, 1.0],
                "axes": [1.0, 2.0],
                "momentum_axes": [0.5, 1.0],
            },
        },
        "trials": {"count": 1},
    },
    "carrier": {
        "kind": "multicontact",
        "task": "carry",
        "box": {"size": [0.18, 0.22, 0.2], "mass": 1.5, "held": [0.26, 0.0, 0.19]},
        "stands": {"pick_ahead": 0.28, "pick_height": 0.72, "place_ahead": 0.26, "place_height": 0.71, "width": 0.1},
        "hands": {"reach": 1.2, "press": 30.0, "support": 0.6, "patience": 1.0, "gap": 0.04},
        "object": {"place": 100.0, "turn": 150.0, "kp": 90.0, "kd": 19.0},
        "route": {"turn": -0.5, "turn_steps": 4, "ways": [0.1, 0.08], "sway": 0.7, "rise": 0.4, "back": 0.01},
        "trials": {"count": 2, "mass_factors": [0.98, 1.02]},
        "hold": 2.0,
    },
    "walk": {
        "kind": "walking",
        "task": "walk",
        "avatar": {"sex": "female", "mass": 60.0, "height": 1.65, "sole": "rolling"},
        "foot": {"shape": {"type": "ellipsoid", "semi_axes": [0.12, 0.05, 0.05]}, "center": [0.04, 0.0, -0.04]},
        "walk": {
            "speed": 1.1,
            "slope": 2.0,
            "friction": 0.7,
            "clearance": 0.02,
            "clearance_ends": 0.1,
            "landing": -0.05,
            "rolling_on": 0.0,
        },
        "phases": {
            "periodicity": "full",
            "single": [0.2, 0.8],
            "double": [0.05, 0.3],
            "double_share": [0.1, 0.2],
            "impacts": True,
            "trailing": "rolling",
        },
        "cost": {"torques": {"knee": 40.0}, "acceleration": 1e-4, "force": 0.1, "arm_swing": [0.5, 2.0]},
        "limits": {"load": 1.5, "pelvis": [0.1, 0.2, 0.1], "joints": {"elbow": [-0.8, -0.1]}},
        "plan": {"intervals": [8, 3], "max_iterations": 3, "perturbation": 0.01, "steps": 2},
        "replay": {"steps": 2, "period": 0.002},
    },
    "toes": {
        "kind": "walking",
        "task": "walk",
        "walk": {"landing": -0.05},
        "foot": {
            "shape": {"type": "ellipsoid", "semi_axes": [0.09, 0.05, 0.045]},
            "center": [0.02, 0.0, -0.04],
            "toe": {
                "shape": {"type": "sphere", "radius": 0.04},
                "center": [0.12, 0.0, -0.045],
                "joint": [0.11, 0.0, -0.05],
                "mass": 0.12,
                "stiffness": 30.0,
                "damping": 0.1,
                "torque": 20.0,
            },
        },
        "cost": {"torques": {"toe": 20.0}},
        "plan": {"intervals": [8, 3], "max_iterations": 3, "steps": 2},
    },
    "legged": {
        "kind": "walking",
        "task": "walk",
        "robot": {"example": "bolt", "repair": True, "posture": {"*_KFE": 0.5}, "free": [], "heading": 0.0},
        "feet": {side: {"frame": f"{side}_FOOT", "shape": {"type": "sphere", "radius": 0.01}} for side in ("FL", "FR")},
        "gait": {
            "speed": 0.3,
            "slope": 2.0,
            "pattern": "walk",
            "swings": [["FL"]],
            "periodicity": "mirrored",
            "single": [0.2, 0.5],
            "double": [0.02, 0.2],
            "double_share": [0.01, 0.9],
            "clearance": 0.02,
            "clearance_ends": 0.1,
            "friction": 0.7,
            "load": 2.0,
            "acceleration": 1e-5,
            "force": 0.1,
            "attitude": [0.1, 0.2, 0.1],
            "spread": 0.8,
            "torque": 0.1,
            "steps": 1,
        },
        "ground": {"shape": {"type": "sinusoid", "amplitude": 0.01, "wavelength": 1.0}, "position": [0.0, 0.0, 0.0]},
        "plan": {"intervals": [6, 3], "max_iterations": 3, "steps": 2},
    },
    "robot": {
        "kind": "walking",
        "task": "simulate",
        "robot": {"urdf": "leg.urdf", "repair": False},
        "feet": {"shin": {"shape": {"type": "ellipsoid", "semi_axes": [0.1, 0.05, 0.04]}, "position": [0, 0, -0.3]}},
        "ground": {"shape": {"type": "plane"}, "rpy": [0.1, 0.0, 0.0], "friction": 0.7},
        "contact": {"on_slip": "slide", "on_separation": "fly"},
        "joints": {"stiffness": {"hinge": 5.0}, "damping": 0.3, "target": {"hinge": 0.1}},
        "initial": {"joints": {"hinge": 0.2}, "rates": {"hinge": 0.1}, "clearance": 0.02, "contacts": ["shin"]},
        "simulation": {"duration": 0.2, "relative_tolerance": 1e-6},
    },
    "ball": {
        "kind": "walking",
        "task": "transfer",
        "object": {"shape": {"type": "sphere", "radius": 0.2}, "mass": 2.0, "inertia": 0.03},
        "contact": {"law": "pure-rolling", "friction": 0.9},
        "initial": {"position": [0.1, 0.0]},
        "goal": {"position": [0.4, 0.2], "quaternion": [0.6, 0.0, 0.0, 0.8]},
        "plan": {"model": "kinematic", "duration": 2.0, "nodes": 60, "starts": 2, "parts": 20},
        "simulation": {"gravity": 9.81, "output_step": 0.01, "relative_tolerance": 1e-9},
    },
}

# What a key may have been given by trundle where the file does not name it; a copy of the contract, not of the schema.
DEFAULTS: dict[str, Any] = {
    "schema": 1,
    "title": "",
    "paper": "",
    "seed": 0,
    "object.inertia": "solid",
    "object.center_of_mass": [0, 0, 0],
    "object.shape.rounding": 0,
    "object.shape.exponents": 2,
    "object.shape.degree": 8,
    "object.shape.tolerance": 0.02,
    "hand.position": [0, 0, 0],
    "hand.rpy": [0, 0, 0],
    "hand.angular_velocity": [0, 0, 0],
    "hand.velocity": [0, 0, 0],
    "hand.motion": {"type": "coast"},
    "hand.motion.phase": [0] * 6,
    "body.center_of_mass": [0, 0],
    **{
        f"{table}.{key}": []
        for table in ("body.curve", "bodies.curve", "hand.shape", "object.shape")
        for key in ("cos", "sin")
    },
    **{f"{table}.{key}": 0 for table in ("terrain.curve", "hand.shape") for key in ("slope", "offset", "phase")},
    **{f"{table}.center": [0, 0] for table in ("terrain.curve", "hand.shape")},
    **{f"{table}.side": "inside" for table in ("terrain.curve", "hand.shape")},
    **dict.fromkeys((f"faults.{key}" for key in ("begin", "dropped", "nan", "lost", "late", "bias")), 0),
    "faults.frozen": False,
    "watchdog.enabled": True,
    "watchdog.patience": 0.05,
    "watchdog.settle": 0,
    "watchdog.stale": 0.05,
    "watchdog.stop": "let-go",
    "contact.law": "rolling",
    "contact.friction": 1,
    "contact.torsional_friction": 0,
    "contact.on_separation": "stop",
    "initial.contact_on_hand": [0, 0, 0],
    "initial.object_quaternion": [1, 0, 0, 0],
    "initial.object_angular_velocity": [0, 0, 0],
    "initial.contact_x": 0,
    "initial.angle": 0,
    "initial.angular_velocity": 0,
    "simulation.duration": 10,
    "simulation.output_step": 0.01,
    "simulation.step": 0.001,
    "simulation.stabilization": "projection",
}
CONTROLLED: dict[str, dict[str, Any]] = {
    "goal": {"release": False, "periodic": False, "rolled": "nearest"},
    "limits": {
        "freedoms": "all", "angular_acceleration": 50, "linear_acceleration": 20, "normal_force": 0.05,
        "friction_margin": 0.95,
    },
    "cost": {"acceleration": 1, "contact_speed": 0, "hand_rate": 0, "tilt": 0, "joint_acceleration": 1e-3},
    "plan": {
        "duration": 2, "nodes": 50, "method": "hermite-simpson", "coarse_nodes": 0, "position_tolerance": 1e-4,
        "rotation_tolerance": 1e-3, "refinements": 5, "starts": 0, "start_sigma": 0.1,
        "printed": False, "start_velocities": "given",
    },
    "controller": {
        "period": 1e-3, "final": 1, "rolled": "rotation", "hold": 0,
        "acceleration_sigma": 20, "drift_sigma": 0.02, "switch": False, "switch_factor": 1, "lost": 20,
    },
    "controller.state": dict.fromkeys(
        "hand_rotation hand_position object_rotation contact hand_angular_velocity hand_velocity "
        "relative_velocity".split(), 1
    ),
    "controller.integral": {"hand_rotation": 0, "hand_position": 0, "contact": 0},
    "controller.input": {"hand_angular_acceleration": 1e-3, "hand_acceleration": 1e-3},
    "arm": {
        "posture": {}, "position": [0, 0, 0], "rpy": [0, 0, 0], "hand_position": [0, 0, 0], "hand_rpy": [0, 0, 0],
        "mass": 0, "center_of_mass": [0, 0, 0], "inertia": [0, 0, 0], "margin": 0.95,
    },
    "offset": {"contact": [0, 0, 0], "rotation": [0, 0, 0], "angle": 0},
    "noise": {"camera_period": 4e-3, "camera_delay": 4e-3, "position_sigma": 0, "angle_sigma": 0},
    "trials": {
        "count": 0, "semi_axes": 0, "inertia": 0, "center_of_mass": 0, "angle_sigma": 0, "position_sigma": 0,
        "angular_bias": 0, "linear_bias": 0, "open_loop": True,
    },
}  # fmt: skip
SURFACE = {
    "rolling_friction": 0, "drilling_friction": 0, "rolling_viscosity": 0, "drilling_viscosity": 0, "adhesion": 0,
    "stiffness": 1e6, "dissipation": 0.1, "restitution": 0, "hypothesis": "newton", "bounce_speed": 1e-3,
}  # fmt: skip
DEFAULTS |= {f"contact.{key}": value for key, value in SURFACE.items()}
DEFAULTS |= {f"{body}.shape.flat": 1e-3 for body in ("object", "hand")}
DEFAULTS |= {f"{table}.{key}": value for table, keys in CONTROLLED.items() for key, value in keys.items()}


def documented(task: str) -> dict[str, Any]:
    """Return the defaults of kind `wallbounce` by dotted keys, as docs/scenarios/wallbounce.md shows them."""
    text = (Path(__file__).parents[2] / "docs" / "scenarios" / "wallbounce.md").read_text(encoding="utf-8")
    blocks = [tomllib.loads(part.split("```")[0]) for part in text.split("```toml")[1:]]
    data = next(b for b in blocks if (b.get("kind"), b.get("task")) == ("wallbounce", task))
    return {"walls": []} | {k: v for table in data for k, v in _flat(table, data[table]).items() if table != "walls"}


def _flat(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {place: value}
    return {k: v for key, inner in value.items() for k, v in _flat(f"{place}.{key}", inner).items()}


BY_KIND: dict[str, dict[str, Any]] = {
    "juggling": {
        "contact.on_slip": "stop",
        "simulation.gravity": [0, 0, -9.81],
        "simulation.relative_tolerance": 1e-11,
    },
    "planar": {
        "contact.on_slip": "ignore", "simulation.gravity": 9.81,
        "bodies.inertia": "solid", "bodies.center_of_mass": [0, 0], "bodies.joint": "revolute", "bodies.at": [0, 0],
        "bodies.axis": [1, 0], "bodies.curve_at": [0, 0],
        **{f"{table}.{key}": 0 for table in ("plant.terrain",) for key in ("slope", "offset", "phase")},
        "initial.positions": {}, "initial.rates": {},
        "controller.enabled": True, "controller.period": 0.01, "controller.torque_limits": {}, "controller.cone": True,
        "controller.friction_share": 1, "controller.normal_force_min": 0, "controller.secondary": "damping",
        "controller.damping": 1e-8, "controller.baumgarte": 0, "controller.form": "torque", "controller.solver": "daqp",
        "controller.fallback": "hold",
        "controller.slip.enabled": True, "controller.slip.gain": 20, "controller.slip.weight": 1,
        "controller.slip.memory": 0.03, "controller.slip.recovery": 0.02,
        "controller.tasks.axis": "x", "controller.tasks.point": [0, 0], "controller.tasks.relative_point": [0, 0],
        "controller.tasks.kp": 0, "controller.tasks.kd": 0, "controller.tasks.ki": 0, "controller.tasks.ki_bound": 10,
        "controller.tasks.weight": 1, "controller.tasks.level": 0,
        "controller.tasks.active": "always", "reference": {}, "reference.speed.start": 0,
        **{f"noise.{key}": 0 for key in "position angle velocity angular_velocity delay contact_delay".split()},
        "plan.duration": [1, 10], "plan.nodes": 40, "plan.share": 0.9,
        "estimator.encoder": 1e-4, "estimator.gyro": 1e-3, "estimator.gyro_bias": 5e-3, "estimator.accelerometer": 0.02,
        "estimator.start": 1e-4, "estimator.model": 5, "estimator.terrain": 1e-5, "estimator.rolling": 1e-4,
        "estimator.slipping": 1,
        **{f"plant.{key}": 1 for key in ("mass", "inertia", "friction", "actuator_gain")},
        **{f"plant.{key}": 0 for key in ("joint_damping", "joint_friction", "actuator_bias")},
        "plant.center_of_mass": {}, "plant.curve_size": {},
    },
    "walking": {
        "avatar.sex": "male", "avatar.sole": "rolling", "walk.speed": 1.2, "walk.slope": 0, "walk.friction": 0.8,
        "walk.clearance": 0.02, "walk.clearance_ends": 0.125, "walk.landing": -0.09, "phases.impacts": False,
        "phases.periodicity": "mirrored", "phases.single": [0.2, 0.8], "phases.double": [0.01, 0.3],
        "cost.torques": {}, "cost.acceleration": 1e-5, "cost.force": 0.1, "cost.arm_swing": [0.6, 5],
        "limits.load": 1.4, "limits.pelvis": [0.09, 0.2, 0.09],
        "limits.joints": {
            "trunk_yaw": [-0.1, 0.1], "hip_yaw": [-0.2, 0.2], "shoulder_pitch": [-0.7, 0.7],
            "shoulder_roll": [0.05, 0.3], "shoulder_yaw": [-0.2, 0.2], "elbow": [-0.9, -0.15],
        },
        "plan.intervals": [16, 6], "plan.max_iterations": 400, "plan.perturbation": 0, "plan.steps": 4,
        "replay.steps": 0, "replay.period": 0.004, "replay.mujoco": 0, "simulation.gravity": 9.81,
        "robot.posture": {}, "robot.free": [], "feet.position": [0, 0, 0], "feet.rpy": [0, 0, 0],
        "feet.law": "rolling", "feet.shape.exponents": 2, "feet.shape.rounding": 0,
        "gait.pattern": "walk", "gait.periodicity": "mirrored", "gait.clearance": 0.02, "gait.clearance_ends": 0.125,
        "gait.friction": 0.7, "gait.load": 2, "gait.acceleration": 1e-5, "gait.force": 0.1, "gait.slope": 0,
        "gait.attitude": [0.15, 0.2, 0.1], "gait.spread": 0.8, "gait.torque": 0.1, "gait.steps": 6,
        "ground.position": [0, 0, 0], "ground.rpy": [0, 0, 0], "ground.shape.phase": 0,
        "foot.shape.exponents": 2, "foot.shape.rounding": 0,
        "foot.toe.mass": 0.15, "foot.toe.stiffness": 20, "foot.toe.damping": 0.05, "foot.toe.torque": 0,
    },
}  # fmt: skip
BY_KIND["wallbounce"] = documented("recover")

WALKER: dict[str, dict[str, Any]] = {
    "walker": {
        "leg": 1, "foot_radius": 0.3, "hip_mass": 0.5, "leg_mass": 0.25, "leg_center": 0.5, "leg_inertia": 0,
        "slope": 0.02,
    },
    "cycle": {"durations": [2.1, 3.0], "twin_durations": [1.6, 2.1], "nodes": 30, "angle": 0.27},
    "initial": {"error": 0.01},
    "trials": {"count": 24, "errors": [0.01, 0.05, 0.1], "strides": 10},
    "simulation": {"gravity": 9.81, "strides": 12, "output_step": 0.005, "relative_tolerance": 1e-11},
}  # fmt: skip
HUMANOID: dict[str, dict[str, Any]] = {
    "robot": {"name": "g1", "lowered": 0.02, "posture": {}, "pose": ""},
    "controller": {"period": 0.002, "avoid": None},
    "controller.gains": {
        "com": 1000, "com_kp": 60, "com_kd": 15, "momentum": 1, "momentum_kd": 4, "base": 20, "base_kp": 60,
        "base_kd": 15, "posture": 2, "posture_kp": 30, "posture_kd": 11, "swing": 200, "swing_turn": 200,
        "swing_kp": 300, "swing_kd": 35,
        "hand": 100, "hand_kp": 200, "hand_kd": 28, "force": 1e-6,
        "damping": 20, "height": 100, "height_most": 1.5,
        "torque_part": 0.95, "sole_part": 0.9, "friction": 0.6,
    },
    "controller.preview": {
        "use": True, "period": 0.04, "sole_part": 0.75, "friction": 0.54, "position": 30, "velocity": 3,
        "angular_momentum": 1, "third": 1, "force": 1e-7, "moment": 1e-5, "momentum_share": 0.3,
        "axes": [1, 1], "momentum_axes": [1, 1], "axis": [0, 0, 1],
        "samples": [0.05] * 6 + [0.15] * 6 + [0.225] * 8,
    },
    "controller.gating": {"force": 8, "descent": 0.8, "patience": 0.4, "settle": 0.4, "early": 0.7},
    "plant": {"friction": 0.8, "step": 0.001, "sole_part": 1, "actuation": "torque", "moved": {}, "fallen_height": 0.6,
              "fallen_tilt": 1.05},
    "noise": {"position": 1e-4, "rate": 0.01, "attitude": 0.002, "gyro": 0.01, "force": 1, "delay": 0.002},
    "simulation": {"output_step": 0.01, "settle": 1.5},
    "pushes": {
        "fore_aft": [8], "lateral": [15], "axes": ["fore-aft", "lateral"], "start": 1, "duration": 0.1,
    },
    "steps": {"count": 20, "length": 0.14, "first": 1, "single": 0.6, "double": 0.2, "lift": 0.06, "sway": 0.6,
              "lean": {}, "reference": "swaying", "width": None, "stagger": 0, "aside": 0, "search": False,
              "rest": False, "fit": False},
    "terrain": {"floor": True, "blocks": []},
    "hand": {"end": "left_hand", "support": "beam", "across": 0.5, "out": 0.5, "down": 0.7, "ahead": 0, "every": 2,
             "duration": 0.6, "pause": 0.2, "lift": 0.05},
    "trials": {"count": 1, "mass_factors": [1.05, 0.95]},
}  # fmt: skip
BY_KIND["multicontact"] = {f"{table}.{key}": value for table, keys in HUMANOID.items() for key, value in keys.items()}
BY_KIND["multicontact"] |= {
    "mass_factors": [1.05, 0.95],
    "obstacles": [],
    "obstacles.rpy": [0, 0, 0],
    "obstacles.against": None,
    "terrain.blocks.name": "",
    "terrain.blocks.rpy": [0, 0, 0],
    "terrain.blocks.against": [],
    "forces": [],
    "forces.point": [0, 0, 0],
    "forces.start": 0,
    "forces.duration": None,
    "forces.known": True,
    "moves": [],
    "moves.yaw": 0,
    "moves.support": "",
    "moves.start": None,
    "moves.duration": None,
    "moves.lift": None,
    "moves.release": None,
}
ROBOT: dict[str, dict[str, Any]] = {
    "feet": {"position": [0, 0, 0], "rpy": [0, 0, 0], "law": "rolling", "shape.exponents": 2, "shape.rounding": 0},
    "ground": {
        "shape": {"type": "plane"}, "position": [0, 0, 0], "rpy": [0, 0, 0], "angular_velocity": [0, 0, 0],
        "velocity": [0, 0, 0], "motion": {"type": "coast"}, "motion.phase": [0] * 6, "friction": 0.8,
    },
    "contact": {"on_slip": "slide", "on_separation": "fly"},
    "joints": {"stiffness": 0, "damping": 0, "target": {}, "locked": []},
    "initial": {
        "position": [0, 0, 1], "quaternion": [1, 0, 0, 0], "clearance": 0.05, "velocity": [0, 0, 0],
        "angular_velocity": [0, 0, 0], "joints": {}, "rates": {}, "contacts": [],
    },
    "simulation": {"gravity": [0, 0, -9.81], "duration": 1, "output_step": 0.005, "relative_tolerance": 1e-8},
}  # fmt: skip
LEG = """<robot name="leg">
<link name="base"><inertial><mass value="3"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="shin"><inertial><mass value="1"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="shin"/><origin xyz=".1 0 -.2"/>
<axis xyz=".6 .8 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>
"""
BALL: dict[str, dict[str, Any]] = {
    "initial": {"position": [0, 0]},
    "plan": {"model": "dynamic", "duration": 1, "nodes": 100, "starts": 8, "parts": 50},
    "simulation": {"gravity": 9.81, "output_step": 0.005, "relative_tolerance": 1e-11},
}
CARRY: dict[str, dict[str, Any]] = {
    "box": {"size": [0.2, 0.24, 0.2], "mass": 2, "preview": "body", "held": [0.27, 0, 0.2]},
    "stands": {"pick_ahead": 0.27, "pick_height": 0.7, "place_ahead": 0.27, "place_height": 0.7, "width": 0.12},
    "hands": {
        "wait": 0.5, "reach": 1.5, "close": 0.8, "squeeze": 0.4, "load": 0.5, "lift": 1.5, "pause": 0.5, "lower": 1.5,
        "unload": 0.5, "release": 0.3, "open": 0.8, "retreat": 1.2, "gap": 0.05, "force": 2, "press": 25,
        "support": 0.5, "descent": 0.03, "patience": 1.5,
    },
    "object": {"place": 200, "turn": 200, "kp": 100, "kd": 20},
    "route": {
        "turn": 0, "turn_steps": 0, "ways": [], "single": 0.8, "double": 0.4, "lift": 0.06, "lift_uneven": 0.1,
        "sway": 0.6, "rise": 0.3, "back": 0,
    },
}  # fmt: skip
BY_TASK: dict[tuple[str, str], dict[str, Any]] = {
    task: {f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()}
    for task, tables in {
        ("planar", "walk"): WALKER,
        ("walking", "transfer"): BALL,
        ("walking", "simulate"): ROBOT,
        ("multicontact", "carry"): CARRY,
    }.items()
}
BY_TASK["multicontact", "carry"]["hold"] = 3


def furnish(folder: Path) -> Path:
    """Fill `folder` with the data files the mutations name and return the folder a scenario is to lie in."""
    home = folder / "home"
    home.mkdir()
    rows = [f"{0.1 * i},{0.1 * j},{0.001 * (i - 4) ** 2 + 0.001 * (j - 4) ** 2}" for i in range(9) for j in range(9)]
    (home / "good.csv").write_text("x,y,z\n" + "\n".join(rows) + "\n")
    (home / "leg.urdf").write_text(LEG)
    (home / "ragged.csv").write_text("0,0,0\n1,2\n")
    (home / "letters.csv").write_text("0,0,zero\n1,1,1\n")
    (home / "one.csv").write_text("0,0,0\n")
    (folder / "outside.csv").write_text("0,0,0\n1,1,1\n")
    (home / "link.csv").symlink_to(folder / "outside.csv")
    (home / "loop.csv").symlink_to(home / "loop.csv")
    os.mkfifo(home / "pipe.csv")
    return home


def examine(content: bytes, home: Path, building: bool = True, simulating: bool = False) -> tuple[str, str]:
    """Return ``("accepted" | "refused", message)``, or ``("finding", what is wrong)``.

    With `building` the model of an accepted file is built, with `simulating` its first half second is run.
    """
    path = home / "case.toml"
    path.write_bytes(content)
    try:
        with limited(SECONDS):
            return _outcome(path, content, building, simulating)
    except _TooLong:
        return "finding", f"no end after {SECONDS:g} s\n{traceback.format_exc()}"
    except Exception:
        return "finding", traceback.format_exc()


def _outcome(path: Path, content: bytes, building: bool, simulating: bool) -> tuple[str, str]:
    try:
        scenario = load_scenario(path)
        fault = _difference(content, scenario.resolved_toml())
        if fault:
            return "finding", fault
        if building:
            for part in (scenario, *scenario.parts.values()):
                simulation = build(part)
                if simulating and isinstance(simulation, Simulation):  # no plan: that is not what a file can break
                    dataclasses.replace(simulation, settings=_short(simulation.settings)).run()
    except InputError as error:
        return _judged(str(error), path)
    return "accepted", ""


def _short(settings: Mapping[str, Any]) -> dict[str, Any]:
    short = dict(settings)
    short["duration"] = min(short["duration"], 0.5)
    short["output_step"] = min(max(short["output_step"], 1e-3), short["duration"])
    if "step" in short:
        short["step"] = min(max(short["step"], 1e-4), short["duration"])
    return short


def _judged(message: str, path: Path) -> tuple[str, str]:
    lines = message.splitlines()
    if not message.startswith(str(path)):
        return "finding", f"the message does not name the file: {message}"
    if len(lines) > LINES or len(message) > LENGTH:
        return "finding", f"the message is long: {message}"
    if any(": " not in line and not line.startswith("...") for line in lines):
        return "finding", f"a line without a fault: {message}"
    return "refused", message


def _difference(content: bytes, resolved: str) -> str:
    """Return what the resolved file dropped, altered or added beyond defaults."""
    given = tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    read = tomllib.loads(resolved)
    defaults = DEFAULTS | BY_KIND[given["kind"]] | BY_TASK.get((given["kind"], given["task"]), {}) | {"name": "case"}
    return _compare(given, read, "", defaults)


def _compare(given: Any, read: Any, where: str, defaults: dict[str, Any]) -> str:
    if isinstance(given, dict) and isinstance(read, dict):
        for key in given:
            if key not in read and not (key == "parts" and not given[key]):
                return f"{where}{key} was dropped"
        for key, value in read.items():
            place = f"{where}{key}"
            if key in given:
                fault = _compare(given[key], value, place + ".", defaults)
            else:
                fault = _added(place, value, defaults)
            if fault:
                return fault
        return ""
    if isinstance(given, list) and isinstance(read, list):
        if len(given) != len(read):
            return f"{where} has another length"
        faults = (_compare(a, b, where, defaults) for a, b in zip(given, read, strict=True))
        return next((fault for fault in faults if fault), "")
    same = given == read and isinstance(given, bool) == isinstance(read, bool)
    return "" if same else f"{where} was altered: {given!r} became {read!r}"


def _added(place: str, value: Any, defaults: dict[str, Any]) -> str:
    plain = re.sub(r"^feet\.[^.]*\.", "feet.", place.replace("terrain.curve.terms.", "terrain.curve."))
    if plain in defaults:
        return "" if value == defaults[plain] else f"{place} = {value!r} is not the default {defaults[plain]!r}"
    if isinstance(value, dict):
        faults = (_added(f"{place}.{key}", inner, defaults) for key, inner in value.items())
        return next((fault for fault in faults if fault), "")
    return f"{place} = {value!r} was added"


class _TooLong(BaseException):
    pass


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes longer, in processor time: how busy the machine is says nothing of a file."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
