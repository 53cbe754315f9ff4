"""The picture of a run, by what is drawn in it: data, labels with units, marks, and that every kind of run fits."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained_runs import run_of
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import sim
from sim import plots
from sim.names import Dimension
from sim.results.explain import verdict
from sim.results.plots import band_places, draw_partitions, draw_rates, plot_run, save_run
from sim.results.plots import base as base

WRITE = Dimension.WRITE


def axes() -> Axes:
    return Figure().subplots()


def stairs(panel: Axes, label: str) -> StepPatch:
    (found,) = [patch for patch in panel.patches if isinstance(patch, StepPatch) and patch.get_label() == label]
    return found


def area(patch: StepPatch) -> float:
    """Units under a filled series whose edges are minutes."""
    values, edges, baseline = patch.get_data()
    return float(((values - (0 if baseline is None else baseline)) * np.diff(edges)).sum() * 60)


def image_data(panel: Axes, number: int) -> np.ndarray[Any, Any]:
    """What an image of a panel shows, 0 where it shows nothing."""
    data = panel.images[number].get_array()
    assert data is not None
    shown: np.ndarray[Any, Any] = np.ma.filled(np.ma.asarray(data), 0)
    return shown


def legend(panel: Axes) -> list[str]:
    drawn = panel.get_legend()
    return [] if drawn is None else [text.get_text() for text in drawn.get_texts()]


def test_the_areas_drawn_are_the_units_recorded() -> None:
    result = run_of("flash-sale")
    lane = result.table.lanes[WRITE]
    panel = draw_rates(result, WRITE, axes())
    assert area(stairs(panel, "consumed")) == pytest.approx(lane.consumed_units.sum())
    assert area(stairs(panel, "throttled")) == pytest.approx(lane.offered_units.sum() - lane.consumed_units.sum())
    values, edges, _ = stairs(panel, "offered").get_data()
    assert (edges[0], edges[-1]) == (0, 60)
    assert values[(edges[:-1] > 12) & (edges[:-1] < 48)] == pytest.approx(10_000, rel=0.02)


def test_capacity_is_drawn_at_every_change() -> None:
    result = run_of("flash-sale")
    panel = draw_rates(result, WRITE, axes())
    (line,) = panel.lines
    most = max(value for _, value in result.table.lanes[WRITE].capacity)
    assert line.get_label() == f"capacity, up to {most:,.0f}/s out of view"
    assert line.get_linestyle() == "--"
    x, y = line.get_data()
    steps = np.column_stack([np.asarray(x)[:-1] * 60, np.asarray(y)[:-1]])
    assert steps == pytest.approx(np.array(result.table.lanes[WRITE].capacity))


def test_capacity_far_above_the_load_is_told_rather_than_drawn_to_scale() -> None:
    panel = draw_rates(run_of("mostly-idle"), WRITE, axes())
    assert "capacity 500/s, out of view" in legend(panel)
    assert panel.get_ylim() == pytest.approx((0, 1.08 * 60))


def test_axes_are_labelled_with_units_and_series_with_names() -> None:
    panel = draw_rates(run_of("burst"), WRITE, axes())
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("time (minutes)", "write units/s")
    assert legend(panel) == ["consumed", "throttled", "offered", "capacity"]
    assert "throttled" not in legend(draw_rates(run_of("calm"), WRITE, axes()))


@pytest.mark.parametrize(
    ("name", "unit", "end"), [("ten-seconds", "seconds", 10), ("calm", "minutes", 60), ("month", "days", 30)]
)
def test_time_is_told_in_the_unit_that_suits_the_run(name: str, unit: str, end: float) -> None:
    panel = draw_partitions(run_of(name), axes())
    assert panel.get_xlabel() == f"time ({unit})"
    assert panel.get_xlim() == (0, end)
    assert 3 <= len([tick for tick in panel.get_xticks() if 0 <= tick <= end]) <= 11


def test_every_split_is_marked_at_its_time_over_its_partitions_band() -> None:
    result = run_of("flash-sale")
    panel = draw_partitions(result, axes())
    (marks,) = [c for c in panel.collections if isinstance(c, LineCollection) and c.get_label() == "split"]
    places = band_places(result.table.partitions)
    assert len(marks.get_segments()) == len(result.table.splits) > 8
    for segment, split in zip(marks.get_segments(), result.table.splits, strict=True):
        assert segment[:, 0] == pytest.approx(split.at_s / 60)
        assert segment[:, 1] == pytest.approx(places[split.partition])
    assert legend(panel) == ["throttled", "split"]
    assert panel.get_title(loc="left") == f"Partitions: 4 → {result.table.partition_counts[-1][1]}"


ALARMS = [
    {"metric": "ThrottledRequests", "threshold": 0, "treat_missing": "notBreaching"},
    {"metric": "WriteThrottleEvents", "threshold": 100_000},
    {"metric": "ConsumedWriteCapacityUnits", "threshold": 0.8, "of_provisioned": True, "period": 300},
    {"metric": "ReadThrottleEvents", "threshold": 0},
]


def test_an_alarm_that_rang_is_a_bar_above_the_data_from_then_until_it_ended() -> None:
    """200 of 150 with a burst that is spent at 900 s; a pause from 1,200 s on ends throttles and consumption."""
    made = sim.Scenario(
        duration=1800,
        table=sim.Table(pk="K", mode="provisioned", read_capacity=10, write_capacity=150),
        traffic=[
            sim.Traffic(name="put", operation="PutItem", arrivals="even", rate=[[0, 200], [1200, 0]]),
            sim.Traffic(name="get", operation="GetItem", rate=5),
        ],
        alarm=ALARMS,
    )
    result = sim.run(made)
    panel = draw_rates(result, WRITE, axes())
    bars = [c for c in panel.collections if isinstance(c, PolyCollection)]
    spans = [[(path.get_extents().x0, path.get_extents().x1) for path in bar.get_paths()] for bar in bars]
    assert spans == [[(16, 23)], [(5, 21)]]
    # Throttles end at 20 min, and their last point leaves the range of three at 23; of 21 the five minutes hold 36,000, not over 80 %.
    heights = [bar.get_paths()[0].get_extents() for bar in bars]
    assert heights[0].y0 >= 1.08 * 200
    assert heights[1].y0 > heights[0].y1
    assert panel.get_ylim()[1] > heights[1].y1
    assert [text.get_text() for text in panel.texts] == ["ThrottledRequests", "ConsumedWriteCapacityUnits"]
    assert legend(panel)[-1] == "in alarm"
    reads = draw_rates(result, Dimension.READ, axes())
    assert "in alarm" not in legend(reads)
    plot_run(result)


def test_a_declined_split_is_a_cross() -> None:
    panel = draw_partitions(run_of("one-item"), axes())
    (cross,) = [line for line in panel.lines if line.get_label() == "split declined"]
    assert (cross.get_marker(), np.asarray(cross.get_xydata()).tolist()) == ("X", [[5.0, 2.5]])
    assert legend(panel) == ["throttled", "split declined"]


def test_the_map_shows_each_partitions_load_and_where_it_refused() -> None:
    panel = draw_partitions(run_of("one-item"), axes())
    load, refused = image_data(panel, 0), image_data(panel, 1)
    assert load.shape == (4, 30)
    assert load[2] == pytest.approx(1, abs=0.02)
    assert not load[[0, 1, 3]].any()
    assert refused.tolist() == [[0] * 30, [0] * 30, [2] * 30, [0] * 30]


@pytest.mark.parametrize(("name", "bands"), [("one-item", 4), ("thousand", 1000)])
def test_bands_are_numbered_at_their_middles(name: str, bands: int) -> None:
    panel = draw_partitions(run_of(name), axes())
    numbered = {label.get_text(): at for at, label in zip(panel.get_yticks(), panel.get_yticklabels(), strict=True)}
    assert 4 <= len(numbered) <= 8
    assert all(at == int(text.replace(",", "")) + 0.5 < bands for text, at in numbered.items())


def test_what_the_tables_limit_refuses_is_a_strip_above_the_bands_and_colours_no_partition() -> None:
    panel = draw_partitions(run_of("burst"), axes())
    assert not image_data(panel, 1).any()
    (strip,) = [c for c in panel.collections if c.get_label() == "throttled by the table's limit"]
    ((begin, low), (end, high)) = strip.get_datalim(panel.transData).get_points()
    assert (begin, end) == pytest.approx((15, 30))
    assert 1 == low < high == panel.get_ylim()[1]
    assert legend(panel) == ["throttled by the table's limit"]


def test_before_instant_adaptive_capacity_a_partition_refused_for_itself() -> None:
    panel = draw_partitions(run_of("divided-static"), axes())
    assert image_data(panel, 1)[0].all()
    assert not image_data(panel, 1)[1:].any()
    assert legend(panel) == ["throttled"]


def test_halves_take_the_load_over_at_the_split() -> None:
    result = run_of("collection")
    panel = draw_partitions(result, axes())
    load = image_data(panel, 0)
    first = result.table.splits[0]
    places = band_places(result.table.partitions)
    column = int(first.at_s / result.grid.duration_s * load.shape[1])
    low, high = places[first.partition]
    before, after = load[low:high, column - 5], load[low:high, column + 5]
    assert before == pytest.approx(1, abs=0.02)
    assert after == pytest.approx(0.9, abs=0.03)


def test_bands_of_the_same_time_tile_the_picture() -> None:
    result = run_of("ten-suffixes")
    partitions = result.table.partitions
    places = band_places(partitions)
    for at_s in np.linspace(0, result.grid.duration_s - 1, 37):
        alive = [p for p in partitions if p.born_s <= at_s and (p.retired_s is None or at_s < p.retired_s)]
        bands = [places[p.number].tolist() for p in sorted(alive, key=lambda p: p.low)]
        assert bands[0][0] == 0
        assert bands[-1][1] == places[:, 1].max()
        assert all(below[1] == above[0] for below, above in pairwise(bands))


def test_a_picture_has_a_panel_for_each_dimension_with_traffic_and_one_for_the_partitions() -> None:
    both, one = plot_run(run_of("mostly-idle")), plot_run(run_of("burst"))
    assert [panel.get_ylabel() for panel in both.axes] == ["read units/s", "write units/s", "partition"]
    assert [panel.get_ylabel() for panel in one.axes] == ["write units/s", "partition"]
    (bar,) = one.axes[-1].child_axes
    assert bar.get_ylabel() == "consumed, of ceiling"
    assert [panel.get_xlabel() for panel in one.axes] == ["", "time (minutes)"]


def test_the_title_is_the_scenarios_and_the_verdict_stands_below_it() -> None:
    figure = plot_run(run_of("flash-sale"))
    assert figure.get_suptitle().strip() == "Flash sale"
    assert [text.get_text() for text in figure.texts if text.get_text().strip() != "Flash sale"] == [
        verdict(run_of("flash-sale"))
    ]


def drawn(figure: Figure) -> Any:
    """The canvas of a figure, drawn."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas


def texts_overlap(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of labels that were drawn over each other, tick labels and titles included."""
    renderer = drawn(figure).get_renderer()
    panels: list[Any] = [panel for axes in figure.axes for panel in (axes, *axes.child_axes)]
    texts: list[Any] = list(figure.texts)
    for panel in panels:
        texts += [panel.title, panel._left_title, panel.xaxis.label, panel.yaxis.label]
        for axis, (low, high) in ((panel.xaxis, panel.get_xlim()), (panel.yaxis, panel.get_ylim())):
            ticks = [tick for tick in axis.get_major_ticks() if low - 1e-9 <= tick.get_loc() <= high + 1e-9]
            texts += [label for tick in ticks for label in (tick.label1, tick.label2)]
        if panel.get_legend() is not None:
            texts += panel.get_legend().get_texts()
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_visible() and t.get_text().strip()]
    # The title keeps an empty second line for the verdict, so those two share it on purpose.
    shared = {figure.get_suptitle(), *(text.get_text() for text in figure.texts)}
    return [
        (a, b)
        for k, (a, box) in enumerate(boxes)
        for b, other in boxes[k + 1 :]
        if box.overlaps(other) and not {a, b} <= shared
    ]


# A drawing takes half a second, so of runs that look alike one is drawn: few and many partitions, 10 s to 30 days, one dimension and two.
LOOKS = [
    "nobody",
    "calm",
    "mostly-idle",
    "one-item",
    "ten-suffixes",
    "flash-sale",
    "ramp",
    "failures",
    "divided-2017",
    "viral-read",
    "thousand",
    "ten-seconds",
    "month",
    "odd-names",
]


@pytest.mark.parametrize("name", LOOKS)
def test_every_kind_of_run_is_drawn_and_no_words_overlap(name: str) -> None:
    figure = plot_run(run_of(name))
    assert texts_overlap(figure) == []
    pixels = np.asarray(drawn(figure).buffer_rgba())
    assert pixels.shape == (600, 1000, 4)
    assert (pixels[:, -3:, :3] == 255).all(), "nothing is cut off at the right"


def test_a_figure_of_ones_own_is_drawn_on_and_kept() -> None:
    mine = Figure(figsize=(7, 5))
    mine.subplots().plot([1, 2])
    assert plot_run(run_of("burst"), mine) is mine
    assert len(mine.axes) == 2
    assert texts_overlap(mine) == []


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_saved_picture_is_of_the_kind_its_name_says_and_the_same_each_time(
    tmp_path: Path, ending: str, begins: bytes
) -> None:
    paths = [tmp_path / f"{k}.{ending}" for k in range(2)]
    for path in paths:
        save_run(run_of("burst"), path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(begins)
    assert first == second


def test_a_dollar_sign_in_a_title_is_a_dollar_sign() -> None:
    figure = plot_run(run_of("odd-names"))
    drawn(figure)
    assert figure.get_suptitle().strip() == r"Cost [bold] \$x\$ and \$y\$"


@pytest.mark.parametrize("title", ["表のテスト" * 30, "العربية", "WORDS MMM " * 20])
def test_a_title_in_any_script_and_of_any_length_is_saved_in_silence_and_fits(tmp_path: Path, title: str) -> None:
    text = """
format = 1
duration = "1m"
table = { name = "t", pk = "k", mode = "on-demand" }
traffic = [{ name = "reads", operation = "GetItem", rate = 1 }]
"""
    result = sim.run(sim.loads(text, overrides={"title": title}))
    save_run(result, tmp_path / "a.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pixels = np.asarray(drawn(plot_run(result)).buffer_rgba())
    assert (pixels[:30, -3:, :3] == 255).all()


def test_alarms_and_changes_are_marked_over_the_rates_at_their_times() -> None:
    result = run_of("auto-scaled")
    panel = draw_rates(result, WRITE, axes())
    marks = {str(line.get_label()): line for line in panel.lines if line.get_marker() not in ("None", None, "")}
    done = [e.done_s for e in result.recorder.events if e.action == "auto-scaling"]
    assert list(np.asarray(marks["auto scaling"].get_xdata()) * 60) == pytest.approx(done)
    assert list(np.asarray(marks["alarm"].get_xdata()) * 60) == [180, 480]
    assert list(np.asarray(marks["refused"].get_xdata()) * 60) == [720]
    assert "UpdateTable" not in marks
    heights = {float(y) for line in marks.values() for y in np.asarray(line.get_ydata())}
    assert len(heights) == 1
    assert panel.get_ylim()[1] > heights.pop() > max(value for _, value in result.table.lanes[WRITE].capacity)
    assert legend(panel) == ["consumed", "throttled", "offered", "capacity", "alarm", "auto scaling", "refused"]


def test_an_index_that_is_scaled_has_panels_though_it_throttles_nothing() -> None:
    def titles(**index: object) -> list[str]:
        gsi = [{"name": "idle", "pk": "H", "read_capacity": 50, "write_capacity": 50}]
        gsi.append({"name": "scaled", "pk": "G", "read_capacity": 50, "write_capacity": 50, **index})
        document = {
            "format": 1,
            "duration": 300,
            "table": {"pk": "K", "mode": "provisioned", "read_capacity": 1, "write_capacity": 100, "gsi": gsi},
            "traffic": [{"name": "w", "operation": "PutItem", "rate": 40}],
        }
        figure = plot_run(sim.run(sim.from_dict(document)))
        return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]

    of_table = ["Writes", "Partitions: 1"]
    assert titles() == of_table
    of_index = ["Writes of index/scaled", "Partitions of index/scaled: 1"]
    assert titles(autoscaling={"write": {"min": 5, "max": 500}}) == of_table + of_index
    # Reads of which there are none are shown where their capacity changes.
    assert titles(autoscaling={"read": {"min": 60, "max": 500}}) == [*of_table, "Reads of index/scaled", of_index[1]]


def test_an_index_that_throttles_has_panels_of_its_own_and_a_mark_on_the_tables() -> None:
    gsi = [{"name": "small", "pk": "G", "read_capacity": 1, "write_capacity": 5, "burst_at_start": 0}]
    document = {
        "format": 1,
        "duration": 300,
        "table": {"pk": "K", "mode": "provisioned", "read_capacity": 1, "write_capacity": 100, "gsi": gsi},
        "traffic": [{"name": "w", "operation": "PutItem", "rate": 20}],
    }
    figure = plot_run(sim.run(sim.from_dict(document)))
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert titles == ["Writes", "Partitions: 1", "Writes of index/small", "Partitions of index/small: 1"]
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "throttled by an index" in labels
    assert "throttled" not in labels
    assert figure.get_size_inches()[1] > 6


def test_a_figure_shows_itself_in_a_notebook_without_pyplot() -> None:
    figure = plots.figure(height_inches=2.5)
    draw_rates(run_of("flash-sale"), WRITE, figure.subplots())
    for shown in (figure, plot_run(run_of("flash-sale"))):
        picture = shown._repr_png_()  # type: ignore[attr-defined]
        assert picture.startswith(b"\x89PNG")
        assert int.from_bytes(picture[16:20], "big") == 1000
    assert plots.figure().subplots().get_figure() is not figure


def test_capacity_that_leaves_the_view_is_told() -> None:
    event = {"at": "2m", "write_capacity": 6000}
    table = {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 1, "write_capacity": 600}
    scenario = sim.from_dict(
        {
            "format": 1,
            "duration": "20m",
            "fields": {"user": {"kind": "uniform", "count": 10_000}},
            "table": table,
            "traffic": [{"name": "writes", "operation": "PutItem", "rate": 400, "arrivals": "even"}],
            "event": [event],
        }
    )
    result = sim.run(scenario)
    assert "capacity, up to 6,000/s out of view" in legend(draw_rates(result, WRITE, axes()))
    # Parents that were split in the instant in which they came have no place to be numbered in.
    alive = {str(p.number) for p in result.table.partitions if p.parent is not None and p.born_s != p.retired_s}
    numbers = {text.get_text() for text in draw_partitions(result, axes()).texts}
    assert len(alive) < len([p for p in result.table.partitions if p.parent is not None])
    assert numbers == alive


@pytest.mark.parametrize(
    ("count", "most", "step_s", "width"),
    [
        (450, 450, 1.0, 1),
        (451, 450, 1.0, 2),
        (14_400, 450, 1.0, 60),
        (86_400, 450, 1.0, 300),
        (1000, 450, 7.0, 3),
        (600, 450, 0.1, 10),
    ],
)
def test_bins_are_as_wide_as_people_count_time(count: int, most: int, step_s: float, width: int) -> None:
    edges = base.time_bins(count, most, step_s)
    assert (edges[0], edges[-1]) == (0, count)
    assert set(np.diff(edges)[:-1]) == {width}
    assert len(edges) - 1 <= most


def test_a_change_at_a_full_minute_of_a_long_run_has_one_edge() -> None:
    rate = [["0s", 100], ["50m", 200], ["60m", 100], ["110m", 200]]
    traffic = [{"name": "writes", "operation": "PutItem", "rate": rate, "arrivals": "even"}]
    table = {"pk": "ONE", "mode": "on-demand"}
    result = sim.run(sim.from_dict({"format": 1, "duration": "4h", "table": table, "traffic": traffic}))
    values, _, _ = stairs(draw_rates(result, WRITE, axes()), "offered").get_data()
    assert set(values.round(6)) == {100, 200}
