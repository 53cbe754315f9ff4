"""AWS's cron expressions: when they come, by the calendar, and what is refused with a sentence that helps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from reference.small import provisioned, scenario

from sim.errors import ScenarioError
from sim.scenario.cron import parse_cron

START = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday
YEARS_S = 6 * 366 * 86_400.0


def moments(text: str, count: int = 5, start: datetime = START) -> list[str]:
    offsets = islice(parse_cron(text).offsets_s(start, YEARS_S), count)
    return [(start + timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M") for s in offsets]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 8 ? * MON-FRI *", "01-01 01-02 01-05 01-06 01-07"),
        ("cron(0 8 ? * 2-6 *)", "01-01 01-02 01-05 01-06 01-07"),
        ("0 8 ? * sat,sun *", "01-03 01-04 01-10 01-11 01-17"),
        ("0 8 ? * FRI-MON *", "01-02 01-03 01-04 01-05 01-09"),
        ("0 8 1,15 * ? *", "01-01 01-15 02-01 02-15 03-01"),
        ("0 8 L * ? *", "01-31 02-28 03-31 04-30 05-31"),
        ("0 8 LW * ? *", "01-30 02-27 03-31 04-30 05-29"),
        ("0 8 15W * ? *", "01-15 02-16 03-16 04-15 05-15"),  # 15 February and March 2026 are Sundays
        ("0 8 1W * ? *", "01-01 02-02 03-02 04-01 05-01"),  # never into the month before
        ("0 8 31W * ? *", "01-30 03-31 05-29 07-31 08-31"),  # months of 30 days have none
        ("0 8 ? * 3#2 *", "01-13 02-10 03-10 04-14 05-12"),  # second Tuesday
        ("0 8 ? * TUE#5 *", "03-31 06-30 09-29 12-29 03-30"),
        ("0 8 ? * 6L *", "01-30 02-27 03-27 04-24 05-29"),  # last Friday
        ("0 8 ? * FRIL *", "01-30 02-27 03-27 04-24 05-29"),
        ("0 8 ? * L *", "01-03 01-10 01-17 01-24 01-31"),  # Saturday ends the week
        ("0 8 1 JAN/3 ? *", "01-01 04-01 07-01 10-01 01-01"),
        ("0 8 29 2 ? *", "02-29"),
    ],
)
def test_days(text: str, days: str) -> None:
    assert [moment[5:10] for moment in moments(text)][: len(days.split())] == days.split()


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("0/20 9 * * ? *", "09:00 09:20 09:40 09:00 09:20"),
        ("*/25 9 * * ? *", "09:00 09:25 09:50 09:00 09:25"),
        ("10-50/20 9 * * ? *", "09:10 09:30 09:50 09:10 09:30"),
        ("0 22-1 * * ? *", "00:00 01:00 22:00 23:00 00:00"),
        ("5,35 0 * * ? *", "00:05 00:35 00:05 00:35 00:05"),
    ],
)
def test_times(text: str, times: str) -> None:
    assert [moment[11:] for moment in moments(text)] == times.split()


def test_years() -> None:
    assert moments("0 0 1 1 ? 2027-2031/2") == ["2027-01-01 00:00", "2029-01-01 00:00", "2031-01-01 00:00"]
    assert moments("0 0 29 2 ? *")[0] == "2028-02-29 00:00"


def test_it_counts_from_the_start_of_the_run_and_ends_before_its_end() -> None:
    start = datetime(2026, 1, 1, 7, 59, 30, tzinfo=UTC)
    cron = parse_cron("0 8,9 * * ? *")
    assert list(cron.offsets_s(start, 3630)) == [30.0]
    assert list(cron.offsets_s(start, 3631)) == [30.0, 3630.0]
    assert list(cron.offsets_s(datetime(2026, 1, 1, 8, tzinfo=UTC), 1)) == [0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 8 * * *", "six cron fields"),
        ("0 8 * * * *", "exactly one of day-of-month and day-of-week"),
        ("0 8 ? * ? *", "exactly one of day-of-month and day-of-week"),
        ("60 8 * * ? *", "minutes: '60'"),
        ("0 24 * * ? *", "hours: '24'"),
        ("0 8 0 * ? *", "day-of-month: '0'"),
        ("0 8 ? * 8 *", "day-of-week: '8'"),
        ("0 8 ? * MON#6 *", "number 6 of a month"),
        ("0 8 ? MONDAY MON *", "month: 'MONDAY'"),
        ("0 8 L-3 * ? *", "day-of-month: 'L'"),
        ("0 8 1,L * ? *", "L, LW, 15W on their own"),
        ("*/0 8 * * ? *", "no step"),
        ("1/x 8 * * ? *", "no step"),
        ("0 8 * * ? 1969", "year: '1969'"),
        ("0 8 * * ? 2030-2026", "ends before it begins"),
        ("0 8 31 2,4,6 ? *", "never comes"),
        ("0 8 29 2 ? 2027", "never comes"),
        ("٣ 8 * * ? *", "minutes"),
        ("", "must not be empty"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(text: str, words: str) -> None:
    scaling = {"write": {"min": 1, "max": 9, "schedule": [{"cron": text, "min": 2}]}}
    with pytest.raises(ScenarioError) as error:
        scenario(table=provisioned(autoscaling=scaling))
    (problem,) = error.value.problems
    assert problem.path == "table.autoscaling.write.schedule[0].cron"
    assert words in problem.message


@pytest.mark.parametrize(
    ("action", "place", "words"),
    [
        ({"min": 50}, "min", "above every max"),
        ({"max": 1}, "max", "below every min"),
        ({"min": 9, "max": 8}, "max", "must not be below min"),
        ({}, "min", "sets min, max or both"),
    ],
)
def test_bounds_that_can_never_fit_are_refused(action: dict[str, Any], place: str, words: str) -> None:
    scaling = {"write": {"min": 5, "max": 40, "schedule": [{"cron": "0 8 * * ? *", **action}]}}
    with pytest.raises(ScenarioError) as error:
        scenario(table=provisioned(autoscaling=scaling))
    (problem,) = error.value.problems
    assert problem.path == f"table.autoscaling.write.schedule[0].{place}"
    assert words in problem.message


def test_bounds_that_another_action_makes_room_for_are_taken() -> None:
    schedule = [{"cron": "0 8 * * ? *", "max": 100}, {"cron": "0 9 * * ? *", "min": 50}]
    assert scenario(table=provisioned(autoscaling={"write": {"min": 5, "max": 40, "schedule": schedule}}))
