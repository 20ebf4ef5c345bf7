"""Goals in the plane: rolling ties the object's angle to the contact, so one of them says where the other is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.tree.conversion import to_matrix
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.tree import TreeModel
from trundle.numerics.ode.step import rk4_step
from trundle.systems.juggling.transfer.charts import patch_on_hand
from trundle.systems.juggling.transfer.goal import Target, hand_angle, names_of
from trundle.systems.juggling.transfer.transfer import Transfer

_TURNS, _STEPS = 12, 2400
_SAME = 1e-6  # of the size: goals that are met


def rolled_goal(
    task: Transfer, model: TreeModel, dynamics: Dynamics, start: FloatArray, target: Target
) -> tuple[FloatArray | None, Target]:
    """Return the state (n_x,) of the twin at the goal and the target with contact and orientation both known.

    The object is rolled from the start until its angle relative to the hand, or its contact, is the goal's; by
    angles whole turns count.

    Raises
    ------
    InputError
        If the object does not get there by rolling within twelve turns, or angle and contact contradict each other.
    """
    goal, (body, hand) = task.goal, names_of(task)
    here = _angle(model, start, body) - float(start[model.layout[f"{hand}.orientation"]][0])
    begin = _object_angle(task, here)
    rolling = _rolling(model, dynamics, start)
    if goal.object_angle is not None:
        turn = float(goal.object_angle) - hand_angle(task) - begin
        if abs(turn) > 2 * np.pi * _TURNS:
            raise InputError("goal.object_angle", goal.object_angle, f"within {_TURNS} turns of the start")
        coordinates = rolling(turn)[-1]
    elif target.contact_on_hand is not None:
        coordinates = _reaching(task, model, rolling, start, target.contact_on_hand)
    else:
        return None, target  # a release from anywhere
    end = np.array(start)
    end[model.layout[f"{model.constraints[0].name}.coordinates"]] = coordinates
    end[model.layout[f"{hand}.orientation"]] = hand_angle(task)
    if target.hand_position is not None:
        end[model.layout[f"{hand}.position"]] = target.hand_position
    for name in (f"{hand}.twist", f"{body}.relative_velocity"):
        end[model.layout[name]] = 0.0
    contact = _on_hand(model)(end)
    found = np.asarray(contact).ravel()
    if target.contact_on_hand is not None:
        size = task.pair.body.shape.reference_length
        if np.linalg.norm(found - target.contact_on_hand) > _SAME * size:
            raise InputError(
                "goal.contact_on_hand",
                target.contact_on_hand.tolist(),
                f"where rolling brings it: {found.tolist()} (m)",
            )
    orientation_goal = to_matrix(np.array([_angle(model, end, body)]))
    return end, replace(target, contact_on_hand=found, orientation=orientation_goal)


def _object_angle(task: Transfer, relative: float) -> float:
    """Return the object's angle relative to the hand at the start, with the whole turns of the user's state."""
    model, (body, hand) = task.pair.system.model(task.start.atlas), names_of(task)
    if f"{body}.orientation" not in model.layout:
        return relative
    turns = [float(task.start.x[model.layout[f"{name}.orientation"]][0]) for name in (body, hand)]
    return turns[0] - turns[1]


def _angle(model: TreeModel, x: FloatArray, body: str) -> float:
    R = np.asarray(ca.Function("R", [model.x], [model.to_world @ model.motions[body].R])(x))
    return float(np.arctan2(R[1, 0], R[0, 0]))


def _on_hand(model: TreeModel) -> ca.Function:
    return ca.Function("on_hand", [model.x], [patch_on_hand(model).x])


def _rolling(model: TreeModel, dynamics: Dynamics, start: FloatArray) -> Callable[[float], FloatArray]:
    """Return the function: angle (rad) relative to the hand -> contact coordinates (n, 2) on the way, by RK4."""
    where = model.layout[f"{model.constraints[0].name}.coordinates"]
    x = ca.SX(ca.DM(start))
    for name, part in model.layout.items():
        if name.endswith((".twist", ".relative_velocity")):
            x[part] = 1.0 if name.endswith(".relative_velocity") else 0.0
    s, h = ca.SX.sym("s", where.stop - where.start), ca.SX.sym("h")
    x[where] = s
    rate = ca.substitute([dynamics.kin[0].rates], [model.x], [x])[0]
    f = ca.Function("f", [s], [rate])
    path = ca.Function("step", [s, h], [rk4_step(lambda at, _: f(at), s, h)]).mapaccum("path", _STEPS)
    first = start[where]
    return lambda turn: np.vstack([first, np.asarray(path(first, np.full((1, _STEPS), turn / _STEPS))).T])


def _reaching(
    task: Transfer, model: TreeModel, rolling: Callable[[float], FloatArray], start: FloatArray, wanted: FloatArray
) -> FloatArray:
    """Return the contact coordinates at the goal's contact: the nearest by angle, in the sense asked for."""
    from scipy.optimize import brentq

    where = model.layout[f"{model.constraints[0].name}.coordinates"]
    contact, size = _on_hand(model), task.pair.body.shape.reference_length
    senses = {"nearest": (1.0, -1.0), "counter-clockwise": (1.0,), "clockwise": (-1.0,)}[task.goal.rolled]

    def missing(coordinates: FloatArray) -> FloatArray:
        x = np.tile(start, (len(coordinates), 1))
        x[:, where] = coordinates
        return np.asarray(contact(x.T)).T - wanted

    if np.linalg.norm(missing(start[None, where])) < _SAME * size:
        return start[where]
    best, least = None, np.inf
    for sense in senses:
        span = sense * 2 * np.pi * _TURNS
        offsets = missing(rolling(span))
        away = np.linalg.norm(offsets, axis=1)
        for k in np.flatnonzero((away[1:-1] <= away[:-2]) & (away[1:-1] < away[2:])) + 1:
            along = offsets[k + 1] - offsets[k - 1]

            def signed_miss(turn: float, along: FloatArray = along) -> float:
                return float(missing(rolling(turn)[-1:])[0] @ along)

            turns = [span * (k + side) / _STEPS for side in (-1, 1)]
            if away[k] > np.linalg.norm(along) or signed_miss(turns[0]) * signed_miss(turns[1]) > 0:
                continue
            turn = float(brentq(signed_miss, *turns, xtol=1e-14))  # pyright: ignore[reportArgumentType]
            found = rolling(turn)[-1]
            if np.linalg.norm(missing(found[None])) < _SAME * size and abs(turn) < least * (
                1 - 1e-6
            ):  # a tie: counter-clockwise
                best, least = found, abs(turn)
            break
    if best is None:
        allowed = f"a point the object reaches by rolling {task.goal.rolled} within {_TURNS} turns"
        raise InputError("goal.contact_on_hand", wanted.tolist(), allowed)
    return best
