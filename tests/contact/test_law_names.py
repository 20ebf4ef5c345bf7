"""A law may be given by its name wherever one is taken; a name that is none is told those that there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.choice import make_contact
from trundle.contact.laws import LAWS, law_named
from trundle.contact.packed import contact_function
from trundle.models.tree.multibody import Multibody


def ball_on_plate(law: str = "rolling") -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0, inertia=0.004), tr.Hand(tr.Plane()), law=law)


@pytest.fixture(scope="module")
def model() -> Multibody:
    return ball_on_plate().model()


def numbers(model: Multibody, expression: ca.SX) -> np.ndarray:
    values = np.random.default_rng(2).normal(size=model.x.shape[0] + model.u.shape[0])
    values[3:7] = 1.0, 0.0, 0.0, 0.0
    x, u = np.split(values, [model.x.shape[0]])
    return np.asarray(ca.Function("f", [model.x, model.u], [expression])(x, u)).ravel()


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if name != "fixed"])
def test_a_model_takes_names_as_it_takes_laws(model: Multibody, name: str) -> None:
    for made in (lambda mode: model.dynamics(mode).xdot, lambda mode: model.terms(mode).J, model.project):
        by_law = numbers(model, made([LAWS[name]]))
        np.testing.assert_array_equal(numbers(model, made([name])), by_law)
        np.testing.assert_array_equal(numbers(model, made(name)), by_law)


def test_inverse_dynamics_too(model: Multibody) -> None:
    nudot, lam = ca.DM.ones(model.nv), ca.DM.ones(3)
    one, other = (model.inverse_dynamics(mode, nudot, lam) for mode in ("rolling", [LAWS["rolling"]]))
    np.testing.assert_array_equal(numbers(model, one), numbers(model, other))


def test_and_a_contact_as_a_function_of_numbers() -> None:
    contact = make_contact(tr.Sphere(0.1), tr.Plane(), "support")
    assert contact_function(contact, "sliding", tr.Friction(0.5), compiled=False).law is LAWS["sliding"]
    assert law_named(LAWS["rolling"]) is LAWS["rolling"]


@pytest.mark.parametrize(
    "takes",
    [
        lambda law: ball_on_plate().model().dynamics([law]),
        lambda law: ball_on_plate().model().dynamics(law),
        lambda law: contact_function(make_contact(tr.Sphere(0.1), tr.Plane(), "support"), law),
        ball_on_plate,
        lambda law: tr.Robot(law=law),
        lambda law: tr.Foot(tr.Sphere(0.1), law=law),
    ],
)
def test_an_unknown_name_is_told_the_known_ones(takes: Callable[[str], Any]) -> None:
    with pytest.raises(tr.InputError, match=r"law = 'roling': must be one of .*'?rolling'?"):
        takes("roling")


def test_one_law_is_not_enough_for_two_contacts() -> None:
    avatar = tr.walking.build_avatar()
    feet = {f"{side}_foot": tr.Foot(avatar.foot.sole, position=avatar.foot.center) for side in ("left", "right")}
    with pytest.raises(tr.InputError, match="2 laws, one a contact"):
        tr.robot_from_urdf(avatar.robot, feet).model().terms("rolling")
