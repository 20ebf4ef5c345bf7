from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.ode.tableaus import METHODS, tableau


@pytest.mark.parametrize("method", METHODS)
def test_quadrature_conditions_up_to_the_order(method):
    t = tableau(method)
    np.testing.assert_allclose(t.A.sum(axis=1), t.c, atol=1e-14)
    for k in range(1, t.order + 1):
        assert t.b @ t.c ** (k - 1) == pytest.approx(1.0 / k, abs=1e-13)


def test_the_orders_are_those_of_their_authors():
    assert {method: tableau.__wrapped__(method).order for method in METHODS} == {"dop853": 8, "dopri5": 5, "rk4": 4}


@pytest.mark.parametrize("method", METHODS)
def test_shapes(method):
    t = tableau(method)
    total = t.stages + 1 + t.extra
    assert t.A.shape == (t.stages, t.stages)
    assert np.all(np.triu(t.A) == 0.0)
    assert t.A_extra.shape == (t.extra, total)
    assert t.D.shape[1] == total
    assert t.E.shape[1] == t.stages + 1
    assert not t.A.flags.writeable


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_error_weights_vanish_on_a_constant_rate(method):
    np.testing.assert_allclose(tableau(method).E.sum(axis=1), 0.0, atol=1e-14)


def test_unknown_method():
    with pytest.raises(InputError, match="method = 'rk45'"):
        tableau("rk45")
