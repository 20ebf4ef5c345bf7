"""Objects that hold expressions: they travel whole."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import casadi as ca

from trundle.numerics.expressions import HoldsExpressions


@dataclass(frozen=True)
class Square(HoldsExpressions):
    x: ca.SX
    value: ca.SX


@dataclass(frozen=True)
class Parts(HoldsExpressions):
    x: ca.SX
    square: Square


def test_expressions_of_nested_objects_still_share_their_symbols() -> None:
    x = ca.SX.sym("x")
    parts = Parts(x, Square(x, x**2))
    for _ in range(2):
        parts = pickle.loads(pickle.dumps(parts))
        assert float(ca.Function("f", [parts.x], [parts.square.value])(3.0)) == 9.0
    assert not ca.is_equal(parts.x, x)
    assert copy.deepcopy(parts) is parts
