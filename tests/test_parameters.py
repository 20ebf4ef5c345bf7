"""Parameters declared once: the constructor and the table of a file say the same."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest
from pydantic import ValidationError

from trundle.control.preview import PreviewWeights
from trundle.control.whole_body import WholeBodyGains
from trundle.errors import InputError
from trundle.parameters import NonNegative, Positive, PositiveFraction, check_parameters, parameter, parameters_of
from trundle.scenarios.schema import table_of


@dataclass(frozen=True)
class Spring:
    """A spring."""

    stiffness: Positive = parameter(100.0, "N/m")
    damping: NonNegative = parameter(0.0, "N s/m")
    share: PositiveFraction = parameter(0.5, "of the load it carries")

    def __post_init__(self) -> None:
        check_parameters(self)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"stiffness": 0.0}, "stiffness = 0.0: must be a finite number > 0"),
        ({"damping": -1.0}, "damping = -1.0: must be a finite number >= 0"),
        ({"share": 1.5}, "share = 1.5: must be a finite number <= 1 and > 0"),
        ({"share": float("nan")}, "share = nan"),
        ({"damping": "1"}, "damping = '1'"),
    ],
)
def test_constructors_check_what_is_declared(given, line) -> None:
    with pytest.raises(InputError) as caught:
        Spring(**given)
    assert line in str(caught.value).replace("> 0 and <= 1", "<= 1 and > 0")
    with pytest.raises(ValidationError):
        table_of(Spring).model_validate(given)


def test_a_table_has_the_parameters_defaults_and_sentences_of_its_dataclass() -> None:
    table = table_of(Spring, {"k": "stiffness", "d": "damping"})
    made = table.model_validate({"k": 7.0})
    assert made.values() == {"stiffness": 7.0, "damping": 0.0}
    assert Spring(**made.values()) == Spring(7.0)
    assert table.__doc__ == "A spring."
    assert table.model_fields["k"].description == "N/m"
    assert set(table_of(Spring, ["share"]).model_fields) == {"share"}


@pytest.mark.parametrize("owner", [WholeBodyGains, PreviewWeights])
def test_every_number_of_a_declared_dataclass_has_a_range_and_a_sentence(owner) -> None:
    declared = parameters_of(owner)
    assert [one.name for one in declared] == [field.name for field in fields(owner)]
    assert all(one.range is not None and one.text for one in declared)
