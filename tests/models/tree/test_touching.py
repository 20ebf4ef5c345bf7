"""How far contacts of corners, edges and faces are from touching."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.models.tree.touching import gap_of, open_gap


def test_beside_a_corner_that_touches_edges_are_open_though_their_lines_go_on_into_the_ground():
    """The corner of a tilted box is on top of a ball."""
    half = np.array([0.1, 0.2, 0.05])
    system = tr.RollingPair(tr.RigidBody(tr.Box(half.tolist()), 1.0, "solid"), tr.Hand(tr.Sphere(0.5))).system
    layout, turn = system.model().layout, Rotation.from_rotvec([-0.1, 0.15, 0.0])
    features = system.contact_pairs[0].shape_A.representations.features
    corner = next(i for i, one in enumerate(features) if np.allclose(one.at, [1, 1, -1] * half))
    x = np.zeros(system.model().x.shape[0])
    x[layout["hand.orientation"]] = [1.0, 0.0, 0.0, 0.0]
    x[layout["object.orientation"]] = turn.as_quat(scalar_first=True)
    x[layout["object.position"]] = [0.0, 0.0, 0.5] - turn.apply(features[corner].at)
    assert open_gap(system, x, corner) == pytest.approx(0.0, abs=1e-12)
    edges = [i for i in system.beside[corner] if features[i].dimension == 1 and features[i].at[2] < 0]
    assert len(edges) == 2
    for i in edges:
        assert gap_of(system, x, i) < -1e-3
        assert open_gap(system, x, i) > 0.01
