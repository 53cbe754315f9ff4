"""The values that a field can take, where they can be listed."""

from __future__ import annotations

from sim.scenario.csvfile import read_weights
from sim.scenario.fields import ChoiceField, ClockField, CsvField, Field, SequenceField


def values_of(field: Field) -> list[str]:
    """Texts of a field's values, in their order.

    Raises
    ------
    ValueError
        A ``sequence`` or a ``clock``, which has no end.
    """
    if isinstance(field, ChoiceField):
        return list(field.weights)
    if isinstance(field, CsvField):
        return list(read_weights(field)[0])
    if isinstance(field, SequenceField | ClockField):
        raise ValueError(f"the values of a {field.kind} field cannot be listed")
    return [str(value) for value in range(field.count)]
