"""Words that stand in two places are held equal."""

from sim.names import PRICE_SHEETS
from sim.results.prices import sheet_names


def test_the_price_sheets_that_the_format_knows_are_those_that_come_along() -> None:
    assert sorted(PRICE_SHEETS) == sheet_names()
