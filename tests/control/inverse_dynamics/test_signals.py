from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.systems.planar.signals import SIGNALS, Constant, Ramp, Sampled, SecondOrder, Signal, Sine, signal

ALL = [
    Constant(0.3),
    Ramp(rate=-0.5, start=1.0),
    Sine(amplitude=0.2, frequency=0.7, phase=0.4, mean=1.0),
    SecondOrder(start=-2.0, kp=10.0, kd=10.0),
    SecondOrder(start=1.0, goal=0.5, kp=9.0, kd=6.0, start_rate=-0.3),
    SecondOrder(start=1.0, goal=0.5, kp=25.0, kd=2.0, start_rate=-0.3),
    Sampled([0.0, 0.55, 1.0, 4.0], [0.2, 1.0, -0.3, 0.4]),
]


def test_every_signal_is_listed() -> None:
    assert {type(one) for one in ALL} == set(SIGNALS.values())


@pytest.mark.parametrize("one", ALL)
def test_rates_are_derivatives(one: Signal) -> None:
    t, h = np.linspace(0.1, 3.0, 23), 1e-5
    _, rate, acceleration = one.at(t)
    before, after = one.at(t - h), one.at(t + h)
    np.testing.assert_allclose(rate, (after[0] - before[0]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(acceleration, (after[1] - before[1]) / (2 * h), atol=1e-8)
    assert [float(part) for part in one.at(0.7)] == [float(part[0]) for part in one.at(np.array([0.7]))]
    assert signal(one.table()) == one


@pytest.mark.parametrize("kd", [1.0, 6.0, 20.0])
def test_the_second_order_response_as_written(kd: float) -> None:
    one = SecondOrder(start=1.0, goal=0.4, kp=9.0, kd=kd, start_rate=0.2)
    value, rate, _ = one.at(0.0)
    assert (float(value), float(rate)) == pytest.approx((1.0, 0.2))
    t, a, w = 0.37, kd / 2, np.emath.sqrt(kd**2 / 4 - 9.0)
    hyperbolic = np.sinh(w * t) / w if w else t
    e = np.exp(-a * t) * (0.6 * np.cosh(w * t) + (0.2 + a * 0.6) * hyperbolic)
    assert float(one.at(t)[0]) == pytest.approx(0.4 + float(np.real(e)))
    assert float(one.at(1e4)[0]) == pytest.approx(0.4)


def test_samples_are_met_and_held_at_their_ends() -> None:
    one = Sampled([1.0, 2.0, 4.0], [0.5, 1.0, -1.0])
    np.testing.assert_allclose(one.at(np.array([0.0, 1.0, 2.0, 4.0, 9.0]))[0], [0.5, 0.5, 1.0, -1.0, -1.0])
    assert [float(part) for part in one.at(5.0)] == [-1.0, 0.0, 0.0]
    assert [float(part) for part in one.at(0.5)] == [0.5, 0.0, 0.0]
    assert [float(part) for part in Sampled([0.0, 2.0], [0.0, 1.0]).at(0.5)] == pytest.approx([0.25, 0.5, 0.0])
    for times, values, key in (
        ([0.0], [1.0], "times"),
        ([0.0, 0.0], [1.0, 2.0], "times"),
        ([0.0, 1.0], [1.0], "values"),
    ):
        with pytest.raises(InputError, match=key):
            Sampled(times, values)
    with pytest.raises(InputError, match="values"):
        Sampled([0.0, 1.0], [0.0, np.nan])


def test_faults() -> None:
    with pytest.raises(InputError, match="type"):
        signal({"type": "square"})
    with pytest.raises(InputError, match="rate"):
        Ramp(rate=np.nan)
    with pytest.raises(InputError, match="kp"):
        SecondOrder(start=1.0, kp=-1.0)
