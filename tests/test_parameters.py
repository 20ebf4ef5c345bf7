"""Parameters declared once: the constructor and the table of a file say the same."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from trundle import parameters
from trundle.errors import InputError
from trundle.parameters import (
    NonNegative,
    Positive,
    PositiveFraction,
    Range,
    check_parameters,
    parameter,
    parameters_of,
)
from trundle.scenarios import schema
from trundle.scenarios.problems import problems_of
from trundle.scenarios.schema import table_of
from trundle.systems.multicontact.preview import PreviewWeights
from trundle.systems.multicontact.whole_body import WholeBodyGains


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


@dataclass(frozen=True)
class Rod:
    """A rod."""

    sizes: Annotated[Sequence[float], Range("2 lengths > 0 (m)", above=0.0, unit="m", length=2)] = field(
        metadata={"text": "m, length and width"}
    )
    hole: Annotated[float, Range("0 or a number from 0.1 to 1", 0.1, 1.0, or_zero=True)] = parameter(0.0, "m")
    parts: Annotated[int, Range("an integer from 1 to 9", 1, 9)] = parameter(2, "pieces")
    end: Literal["round", "flat"] = parameter("round", "form of its ends")
    bounds: Annotated[tuple[float, float], Range("2 numbers from 0, below 5", 0.0, below=5.0)] | None = parameter(
        None, "s, of its life"
    )
    names: Mapping[str, int] = parameter({"one": 1}, "of what")

    def __post_init__(self) -> None:
        check_parameters(self, "rod.")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"sizes": [1.0]}, "rod.sizes = [1.0]: must be an array of 2 finite numbers > 0 (m)"),
        ({"sizes": [1.0, 0.0]}, "rod.sizes = [1.0, 0.0]: must be an array of 2 finite numbers > 0 (m)"),
        ({"hole": 0.05}, "rod.hole = 0.05: must be a finite number >= 0.1 and <= 1"),
        ({"parts": 10}, "rod.parts = 10: must be an integer >= 1 and <= 9"),
        ({"parts": 2.0}, "rod.parts = 2.0: must be an integer >= 1 and <= 9"),
        ({"end": "oval"}, "rod.end = oval: must be one of 'round', 'flat'"),
        ({"bounds": (1.0, 5.0)}, "rod.bounds[1] = 5.0: must be a finite number >= 0 and < 5"),
    ],
)
def test_arrays_integers_choices_and_what_may_be_none_are_checked_alike(given, line) -> None:
    with pytest.raises(InputError) as caught:
        Rod(**{"sizes": (1.0, 2.0)} | given)
    assert str(caught.value).replace("'oval'", "oval") == line
    with pytest.raises(ValidationError):
        table_of(Rod, [next(iter(given))]).model_validate(given)


def test_clean_values_are_floats_and_tuples_in_the_dataclass_and_its_table() -> None:
    rod = Rod([1, 2], hole=0)
    assert (rod.sizes, rod.hole, rod.bounds, rod.names) == ((1.0, 2.0), 0.0, None, {"one": 1})
    assert isinstance(rod.hole, float)
    assert isinstance(rod.sizes[0], float)
    table = table_of(Rod, ["sizes", "hole", "parts", "end", "bounds"], tag="rod")
    assert table.model_validate({"type": "rod", "sizes": [1.0, 2.0], "bounds": [0.0, 1.0]}).make() == Rod(
        (1.0, 2.0), bounds=(0.0, 1.0)
    )
    with pytest.raises(ValidationError, match="sizes\n  Field required"):
        table.model_validate({"type": "rod"})


@dataclass(frozen=True)
class Rules:
    """Rules."""

    near: Annotated[float, Range("a number from 0 to 1e12", minimum=0.0, infinite=True)] = parameter(0.02, "m")
    credit: bool = parameter(True, "whether it counts")

    def __post_init__(self) -> None:
        check_parameters(self)


def test_constructors_take_infinity_only_where_a_range_says_so_and_files_never() -> None:
    assert Rules(near=float("inf")).near == float("inf")
    for wrong in (float("-inf"), float("nan"), -1.0):
        with pytest.raises(InputError, match="near = "):
            Rules(near=wrong)
    with pytest.raises(ValidationError):
        table_of(Rules).model_validate({"near": float("inf")})


def test_truth_values_are_no_numbers() -> None:
    with pytest.raises(InputError, match="credit = 1: must be true or false"):
        Rules(credit=1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValidationError):
        table_of(Rules).model_validate({"credit": 1})


def test_a_file_may_have_another_default() -> None:
    table = table_of(Rules, defaults={"near": 0.5})
    assert table.model_validate({}).values() == {"near": 0.5, "credit": True}
    assert table.model_fields["near"].description == "m"


def test_a_key_may_have_a_sentence_of_its_own() -> None:
    table = table_of(Spring, {"k": "stiffness", "d": "damping"}, texts={"k": "N/m, of the file"})
    assert (table.model_fields["k"].description, table.model_fields["d"].description) == ("N/m, of the file", "N s/m")


def test_own_keys_come_before_those_of_dataclasses() -> None:
    class Axle(table_of(Rod, ["parts"], tag="axle", base=table_of(Spring, {"k": "stiffness"}))):
        width: float = 1.0
        name: str = "a"

    keys = ["name", "type", "width", "parts", "k"]
    assert list(Axle.model_fields) == keys
    assert list(Axle.model_json_schema()["properties"]) == keys
    made = Axle.model_validate({"k": 1.0, "type": "axle", "parts": 2})
    assert list(made.model_dump()) == keys


def test_only_a_table_of_one_dataclass_is_made_into_it() -> None:
    given = {"stiffness": 1.0}
    assert table_of(Spring).model_validate(given).make() == Spring(1.0)
    both = table_of(Rules, ["near"], base=table_of(Spring)).model_validate(given)
    with pytest.raises(TypeError, match="must have the keys of one dataclass to make it; it has: Rules, Spring"):
        both.make()
    with pytest.raises(TypeError, match="it has: none"):
        schema.ParameterTable().make()


def test_a_range_is_declared_once() -> None:
    """The key types of files are derived from the ranges of `trundle.parameters`; no schema states one again."""
    found = [each for kind in vars(parameters).values() for each in get_args(kind)[1:] if isinstance(each, Range)]
    schemas = sorted(Path(parameters.__file__).parent.glob("systems/*/scenario/schema*.py"))
    stated = [(path.name, each.text) for path in schemas for each in found if f'("{each.text}")' in path.read_text()]
    assert len(schemas) > 5
    assert len(found) > 5
    assert stated == []


@pytest.mark.parametrize("name", ["Real", "NonNegative", "Positive", "Fraction", "Seconds", "Period", "Delay", "Mass"])
def test_the_key_types_of_files_hold_the_bounds_of_their_ranges(name: str) -> None:
    (allowed,) = (each for each in get_args(getattr(parameters, name)) if isinstance(each, Range))
    number = TypeAdapter(getattr(schema, name))
    low, high = allowed.in_files
    for value in (low, high, allowed.minimum, allowed.maximum, allowed.above):
        if low <= value <= high:
            inside = value >= allowed.minimum and value <= allowed.maximum and value > allowed.above
            assert accepts(number, value) == inside
    assert not accepts(number, 2.0 * high)
    assert not accepts(number, -2.0 * max(abs(low), high))


def accepts(kind: TypeAdapter[float], value: float) -> bool:
    try:
        kind.validate_python(value)
    except ValidationError:
        return False
    return True


def test_a_table_of_two_dataclasses_gives_each_its_own() -> None:
    class Both(table_of(Rod, ["parts"], base=table_of(Spring, {"k": "stiffness"}))):
        """Both."""

    made = Both.model_validate({"k": 2.0, "parts": 3})
    assert (made.values(Spring), made.values(Rod)) == ({"stiffness": 2.0}, {"parts": 3})
    assert Both.names(Spring) == {"k": "stiffness"}
    assert made.values() == {"stiffness": 2.0, "parts": 3}


Open = Annotated[float, Range("a number > 0, or inf", above=0.0, infinite=True)]
Switched = Annotated[float, Range("0, or a number from 1 to 2", minimum=1.0, maximum=2.0, or_zero=True)]
Pair = Annotated[tuple[int, int], Range("2 integers >= 2", minimum=2)]
Many = Annotated[tuple[float, ...], Range("numbers >= 0", minimum=0.0)]
Low = Annotated[tuple[float, float], Range("2 ascending numbers", order=operator.le)]
Rising = Annotated[tuple[float, ...], Range("ascending numbers", order=operator.lt)]


@dataclass(frozen=True)
class Odd:
    """Ranges with an exception, and sequences."""

    open: Open = parameter(1.0, "N")
    switched: Switched = parameter(1.0, "N")
    pair: Pair = parameter((2, 3), "intervals")
    many: Many = parameter((1.0,), "m")
    low: Low | None = parameter(None, "m, lowest and highest")
    rising: Rising = parameter((1.0, 2.0), "s")

    def __post_init__(self) -> None:
        check_parameters(self)


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({"open": [math.inf, 1.0]}, "a finite number > 0"),
        ({"open": -math.inf}, "a finite number > 0"),
        ({"switched": [0.0, 0.0]}, "a finite number"),
        ({"switched": False}, "a finite number"),
        ({"pair": (2.5, 3)}, "2 integers >= 2"),
        ({"pair": (2, 3, 4)}, "an array of 2"),
        ({"many": (1.0, -1.0)}, ">= 0"),
        ({"low": (2.0, 1.0)}, "2 ascending numbers"),
        ({"rising": (1.0, 1.0)}, "ascending numbers"),
        ({"rising": (1.0, 3.0, 2.0)}, "ascending numbers"),
    ],
)
def test_exceptions_of_ranges_and_sequences_are_checked(given, allowed) -> None:
    with pytest.raises(InputError, match=allowed):
        Odd(**given)


def test_exceptions_of_ranges_are_taken() -> None:
    made = Odd(open=math.inf, switched=0, many=(1, 2, 3))
    assert (made.open, made.switched, made.many) == (math.inf, 0.0, (1.0, 2.0, 3.0))
    assert Odd(low=(1, 1)).low == (1.0, 1.0)


class OddTable(table_of(Odd, ["low", "rising"])):
    """Numbers in an order."""


def test_a_file_keeps_the_order_of_a_range() -> None:
    assert OddTable.model_validate({"low": [1.0, 1.0]}).low == (1.0, 1.0)
    for key, value in (("low", [2.0, 1.0]), ("rising", [1.0, 1.0]), ("rising", [1.0, 3.0, 2.0])):
        with pytest.raises(ValidationError) as told:
            OddTable.model_validate({key: value})
        (problem,) = problems_of(told.value, OddTable, {key: value})
        assert (problem.key, problem.fault) == (key, f"must be {'2 ' * (key == 'low')}ascending numbers")
