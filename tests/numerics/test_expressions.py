"""Expressions that travel: what shares symbols shares them after it, too."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import dataclass

import casadi as ca

from trundle.numerics.expressions import HoldsExpressions


@dataclass(frozen=True, eq=False)
class Square(HoldsExpressions):
    x: ca.SX
    value: ca.SX
    of: Square | None = None


def test_what_holds_others_is_sent_with_their_symbols() -> None:
    x = ca.SX.sym("x")
    inner = Square(x, x**2)
    outer = Square(x, inner.value**2, inner)
    for sent in (pickle.loads(pickle.dumps(outer)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(outer))))):
        assert sent.of is not None
        values = ca.Function("f", [sent.x], [sent.value, sent.of.value])(3.0)
        assert [float(value) for value in values] == [81.0, 9.0]
    assert deepcopy(outer) is outer
