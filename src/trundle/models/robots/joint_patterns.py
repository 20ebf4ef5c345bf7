"""Numbers of joints given by patterns of their names (* and ?): the first pattern that fits a name counts."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import numpy as np

from trundle.checks import FloatArray, array, number
from trundle.errors import InputError


def check_patterns(key: str, patterns: Mapping[str, float], joints: tuple[str, ...]) -> None:
    """Raise `InputError` for a pattern that fits no joint, or an angle that is no number; keys start with `key`."""
    for pattern, angle in patterns.items():
        if not any(fnmatchcase(joint, pattern) for joint in joints):
            raise InputError(f"{key}.{pattern}", angle, "of a joint, by its name or a pattern that fits")
        number(f"{key}.{pattern}", angle, unit="rad")


def by_joint(key: str, table: Mapping[str, float], joints: tuple[str, ...], minimum: float = -np.inf) -> FloatArray:
    """Return one number a joint (n,): that of the first pattern that fits its name, not less than `minimum`.

    Raises
    ------
    InputError
        For a joint that no pattern fits, or a value that is no such number.
    """
    found = []
    for joint in joints:
        value = next((v for pattern, v in table.items() if fnmatchcase(joint, pattern)), None)
        if value is None:
            raise InputError(f"{key}.{joint}", None, 'given, by its name or a pattern such as "*"')
        found.append(number(f"{key}.{joint}", value, minimum=minimum))
    return array(key, found, (len(joints),))
