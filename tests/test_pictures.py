"""The hash ring, bucket levels, shards and comparisons, by what is drawn in them, against the records or against a derivation on paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from explained_runs import run_of
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PatchCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

import models
import sim
from sim import Result, plots
from sim.keyspace.hashing import HASH_SPACE, position_of
from sim.names import Dimension, ErrorName, Limit
from sim.results.explain import verdict
from sim.results.phrases import amount
from sim.results.plots import base
from sim.results.plots.ring import spread_out
from sim.results.plots.saving import save_figure
from sim.results.plots.shards import expected_per_s
from sim.results.recorder import PartitionRecord

READ, WRITE = Dimension.READ, Dimension.WRITE
SMALL, NOTEBOOK = (6.0, 4.0), (10.0, 6.0)
HOSTILE = ["$x$ and $y", "two\nlines", "a very long name " * 30, "🔥" * 20, "表" * 60, "<script>", "\x1b[31m", "%s{}"]


def axes(size: tuple[float, float] = NOTEBOOK) -> Axes:
    figure = Figure(figsize=size, dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


@cache
def on_demand(
    keys: int, rate: float = 3000, partitions: int = 4, prefix: str = "S", seed: int = 0, duration: int = 180
) -> Result:
    """Writes to so many equal shards of one key; with 0 to a hundred thousand users."""
    return sim.run(
        sim.from_dict(
            {
                "format": 1,
                "seed": seed,
                "duration": duration,
                "fields": {"k": {"kind": "uniform", "count": keys or 100_000}},
                "table": {"pk": f"{prefix}#{{k}}", "mode": "on-demand", "partitions": partitions},
                "traffic": [{"name": "w", "operation": "PutItem", "arrivals": "even", "rate": rate}],
            }
        )
    )


@cache
def weighted(names: tuple[str, ...], rate: float = 200) -> Result:
    """Writes to keys of these names, each with half of the weight of the one before."""
    return sim.run(
        sim.from_dict(
            {
                "format": 1,
                "title": names[0],
                "duration": 60,
                "fields": {"k": {"kind": "choice", "weights": {name: 2.0**-n for n, name in enumerate(names)}}},
                "table": {"pk": "{k}", "mode": "provisioned", "read_capacity": 1, "write_capacity": 150},
                "traffic": [{"name": "w", "operation": "PutItem", "arrivals": "even", "rate": rate}],
            }
        )
    )


def legend(panel: Axes) -> list[str]:
    drawn = panel.get_legend()
    return [] if drawn is None else [text.get_text() for text in drawn.get_texts()]


def collection(panel: Axes, label: str) -> Any:
    (found,) = [c for c in panel.collections if c.get_label() == label]
    return found


def line(panel: Axes, label: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    (found,) = [one for one in panel.lines if one.get_label() == label]
    x, y = found.get_data()
    return np.asarray(x, dtype=float), np.asarray(y, dtype=float)


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Texts that are drawn over each other, and those that are cut off at the figure's edges."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts: list[Any] = list(figure.texts)
    for panel in [inner for outer in figure.axes for inner in (outer, *outer.child_axes)]:
        texts += [panel.title, getattr(panel, "_left_title", panel.title), panel.xaxis.label, panel.yaxis.label]
        texts += panel.texts
        for axis, (low, high) in ((panel.xaxis, panel.get_xlim()), (panel.yaxis, panel.get_ylim())):
            ticks = [t for t in axis.get_major_ticks() if min(low, high) - 1e-9 <= t.get_loc() <= max(low, high) + 1e-9]
            texts += [label for tick in ticks for label in (tick.label1, tick.label2)]
        if panel.get_legend() is not None:
            texts += panel.get_legend().get_texts()
    for drawn in figure.legends:
        texts += drawn.get_texts()
    texts = list(dict.fromkeys(t for t in texts if t.get_visible() and t.get_text().strip()))
    boxes = [(t.get_text(), Text.get_window_extent(t, renderer)) for t in texts if t.get_text().rstrip("\n")]
    # A title keeps empty lines for the verdict below it; its own words end where these begin.
    boxes = [
        (text, box if not text.endswith("\n") else mpl.transforms.Bbox([[box.x0, box.y1 - 14], [box.x1, box.y1]]))
        for text, box in boxes
    ]
    outside = [(t, "edge") for t, box in boxes if box.x0 < -1 or box.x1 > figure.bbox.width + 1]
    return outside + [
        (a, b)
        for (a, one), (b, other) in combinations(boxes, 2)
        if one.shrunk(0.98, 0.9).overlaps(other.shrunk(0.98, 0.9))
    ]


# The hash ring.


def reach(path: Any) -> tuple[float, float]:
    """From where to where an arc goes, as fractions of the circle clockwise from the top; its inner points are left out."""
    x, y = path.vertices[np.hypot(*path.vertices.T) > 0.99].T
    turns = np.unwrap(np.arctan2(x, y), period=2 * np.pi) / (2 * np.pi)
    low = turns.min()
    return float(low - np.floor(low + 1e-9)), float(turns.max() - np.floor(low + 1e-9))


def standing(result: Result, at_s: float) -> list[PartitionRecord]:
    alive = [p for p in result.table.partitions if p.born_s <= at_s and (p.retired_s is None or at_s < p.retired_s)]
    return sorted(alive, key=lambda p: p.low)


def test_every_partition_is_an_arc_over_its_range_coloured_by_its_load() -> None:
    result = run_of("flash-sale")
    for at_s in (700.0, 1800.0):
        panel = plots.draw_ring(result, axes(), at_s=at_s)
        arcs = collection(panel, "load")
        drawn = sorted((*reach(path), load) for path, load in zip(arcs.get_paths(), arcs.get_array(), strict=True))
        alive = standing(result, at_s)
        assert len(drawn) == len(alive)
        period = int(at_s // 60)
        for (low, high, load), partition in zip(drawn, alive, strict=True):
            assert (low, high) == pytest.approx(
                (partition.low.hash / HASH_SPACE, partition.high.hash / HASH_SPACE), abs=1e-6
            )
            lived = min((period + 1) * 60, partition.retired_s or 3600) - max(period * 60, partition.born_s)
            served = result.table.lanes[WRITE].consumed_by_partition.rows[partition.number, period]
            assert load == pytest.approx(served / lived / 1000)
    assert len(standing(result, 700)) == 4 < len(standing(result, 1800))


def test_without_a_time_the_ring_shows_the_end_and_the_load_of_each_partitions_life() -> None:
    result = run_of("collection")
    panel = plots.draw_ring(result, axes())
    arcs = collection(panel, "load")
    lane = result.table.lanes[WRITE]
    expected = {
        p.number: lane.consumed_by_partition.of(len(result.table.partitions))[p.number].sum() / (1800 - p.born_s) / 1000
        for p in standing(result, 1800)
    }
    assert sorted(arcs.get_array()) == pytest.approx(sorted(expected.values()))
    assert "7 partitions" in [text.get_text() for text in panel.texts]


def test_the_partition_that_refuses_has_the_colour_of_throttling_and_a_hatch() -> None:
    result = run_of("one-item")
    panel = plots.draw_ring(result, axes())
    hot = collection(panel, "throttled")
    assert to_rgb(hot.get_facecolor()[0][:3]) == to_rgb(base.THROTTLED_COLOUR)
    (path,) = hot.get_paths()
    low, high = reach(path)
    assert low <= position_of("STATS#global") / HASH_SPACE < high
    assert high - low == pytest.approx(0.25)
    assert [c.get_hatch() for c in panel.collections if c.get_hatch()] == [base.HATCH]
    assert legend(panel) == ["throttled", "hot key"]


def test_keys_are_dots_where_their_hashes_lie_as_large_as_their_shares() -> None:
    result = weighted(("alice", "bob", "carol"))
    panel = plots.draw_ring(result, axes())
    (dots,) = [c for c in panel.collections if isinstance(c, PathCollection)]
    x, y = np.asarray(dots.get_offsets()).T
    at = (np.arctan2(x, y) / (2 * np.pi)) % 1
    assert at == pytest.approx([position_of(key) / HASH_SPACE for key in ("alice", "bob", "carol")])
    assert (np.hypot(x, y) > 1).all()  # outside the ring, where they hide no narrow arc
    areas = np.asarray(dots.get_sizes())
    assert areas[0] / areas[1] == pytest.approx(2, rel=0.01)
    said = [text.get_text() for text in panel.texts]
    assert [s for s in said if s.startswith(("alice", "bob", "carol"))]
    assert "alice  57 %" in said
    assert "bob  29 %" in said


def test_shards_of_one_key_have_a_marker_of_their_own_and_count_as_one() -> None:
    result = on_demand(10)
    panel = plots.draw_ring(result, axes(), keys=1)
    (dots,) = [c for c in panel.collections if isinstance(c, PathCollection)]
    assert len(dots.get_offsets()) == 10
    assert legend(panel)[-1] == "S#…: 10 keys"
    assert "S#7  10 %" in [text.get_text() for text in panel.texts]
    mixed = plots.draw_ring(weighted(("lone", "S#1", "S#2", "T#1", "T#2")), axes())
    markers = [c.get_paths()[0].vertices.round(6).tobytes() for c in mixed.collections if isinstance(c, PathCollection)]
    assert len(set(markers)) == len(markers) == 3
    assert legend(mixed)[-3:] == ["hot key", "S#…: 2 keys", "T#…: 2 keys"]
    assert not [c for c in plots.draw_ring(result, axes(), keys=0).collections if isinstance(c, PathCollection)]


def test_keys_that_nobody_would_call_hot_are_no_dots() -> None:
    panel = plots.draw_ring(on_demand(0, duration=60), axes())
    assert not [c for c in panel.collections if isinstance(c, PathCollection)]


@pytest.mark.parametrize("size", [SMALL, NOTEBOOK])
def test_names_round_the_ring_do_not_overlap(size: tuple[float, float]) -> None:
    for result in (on_demand(32, partitions=24), run_of("ten-suffixes"), run_of("collection"), limited(partitions=8)):
        panel = plots.draw_ring(result, axes(size))
        figure = panel.figure
        assert isinstance(figure, Figure)
        assert overlaps(figure) == []


def test_one_partition_and_five_hundred_and_thousands_are_a_ring() -> None:
    (path,) = collection(plots.draw_ring(weighted(("alice", "bob", "carol")), axes()), "load").get_paths()
    x, y = path.vertices.T
    assert (x.min(), x.max(), y.min(), y.max()) == pytest.approx((-1, 1, -1, 1), abs=1e-3)
    many = collection(plots.draw_ring(on_demand(1, partitions=500, duration=60), axes()), "load")
    assert len(many.get_paths()) == 500
    thousands = plots.draw_ring(on_demand(1, partitions=3000, duration=60), axes())
    assert len(collection(thousands, "load").get_paths()) == 720
    (hot,) = collection(thousands, "throttled").get_paths()
    assert np.mean(reach(hot)) == pytest.approx(position_of("S#0") / HASH_SPACE, abs=1 / 720)


def test_partitions_inside_an_item_collection_are_slivers_that_can_be_seen() -> None:
    result = run_of("collection")
    inside = [p for p in standing(result, 1800) if p.low.hash == p.high.hash]
    assert inside
    arcs = collection(plots.draw_ring(result, axes()), "load")
    widths = [high - low for low, high in map(reach, arcs.get_paths())]
    assert sum(0.003 < width < 0.004 for width in widths) == len(inside)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"resource": "index/none"}, "resource 'index/none' is none of this run's: table"),
        ({"at_s": -1.0}, 'at_s is a second of the run, 0 to 180, or a time such as "5m", not -1.0'),
        ({"at_s": 181.0}, "not 181.0"),
        ({"at_s": "5m"}, "at_s is a second of the run, 0 to 180, or a time such as \"5m\", not '5m'"),
        ({"at_s": "soon"}, "not 'soon'"),
        ({"at_s": float("nan")}, "not nan"),
        ({"keys": -1}, "keys is a whole number from 0, not -1"),
        ({"keys": 2.5}, "keys is a whole number from 0, not 2.5"),
        ({"keys": "3"}, "keys is a whole number from 0, not '3'"),
    ],
)
def test_a_ring_that_cannot_be_drawn_says_why(more: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        plots.draw_ring(on_demand(10), axes(), **more)


def test_a_ring_tells_that_the_tables_own_limit_refused_and_colours_no_partition_for_it() -> None:
    """150 units/s of burst are spent at 15 min, and from there on the table refuses a fourth."""
    hatched = "throttled by the table's limit"
    panel = plots.draw_ring(run_of("burst"), axes())
    ring = collection(panel, hatched)
    assert to_rgb(ring.get_edgecolor()[0][:3]) == to_rgb(base.TABLE_LIMIT_COLOUR)
    assert ring.get_hatch() == base.HATCH
    assert np.hypot(*ring.get_paths()[0].vertices.T).max() < 0.8, "it hides no arc"
    assert hatched in legend(panel)
    assert "throttled" not in legend(panel)
    for at_s, limited in ((0, False), (14.5 * 60, False), ("15m", True), (1800, True)):
        assert (hatched in legend(plots.draw_ring(run_of("burst"), axes(), at_s=at_s))) is limited
    assert hatched not in legend(plots.draw_ring(run_of("one-item"), axes()))
    index = plots.draw_ring(indexed(), axes(), resource="index/hot")
    assert "throttled by the index's limit" in legend(index)


def test_labels_are_spread_as_little_as_may_be() -> None:
    assert spread_out(np.array([0.0, 0.0, 0.0]), 1, -9, 9).tolist() == [-1, 0, 1]
    assert spread_out(np.array([-5.0, 0.0, 0.2, 5.0]), 1, -9, 9) == pytest.approx([-5, -0.4, 0.6, 5])
    assert spread_out(np.array([8.9, 9.0]), 1, -9, 9).tolist() == [8, 9]
    assert spread_out(np.array([]), 1, -9, 9).tolist() == []


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_spread_labels_keep_their_order_their_distance_and_their_bounds(places: list[float]) -> None:
    spread = spread_out(np.array(sorted(places)), 0.1, -1.2, 1.2)
    assert (np.diff(spread) >= 0.1 - 1e-9).all()
    assert spread[0] >= -1.2 - 1e-9
    assert spread[-1] <= 1.2 + 1e-9


# Bucket levels.


def test_a_burst_bucket_runs_dry_when_arithmetic_says_so() -> None:
    """150 units/s and 300 s of them to begin with: 45,000. Under 200 it loses 50 a second, and is empty at 900 s."""
    panel = plots.draw_levels(run_of("burst"), axes())
    minutes, tokens = line(panel, "in the bucket")
    assert minutes.tolist() == list(range(31))
    assert tokens == pytest.approx(np.maximum(0, 45_000 - 50 * 60 * minutes), abs=200)
    assert line(panel, "depth")[1].tolist() == [45_000, 45_000]
    dry = collection(panel, "throttled")
    ((begin, _), (end, _)) = dry.get_datalim(panel.transData).get_points()
    assert (begin, end) == pytest.approx((15, 30), abs=0.05)
    assert to_rgb(dry.get_facecolor()[0][:3]) == to_rgb(base.THROTTLED_COLOUR)
    assert legend(panel) == ["in the bucket", "depth", "throttled"]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("time (minutes)", "write units in the bucket")
    assert panel.get_title(loc="left") == "Writes: burst bucket"
    (right,) = panel.child_axes
    assert right.get_ylabel() == "seconds of 150 units/s"
    figure = panel.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    assert np.array(right.get_ylim()) * 150 == pytest.approx(panel.get_ylim())


def test_a_bucket_that_is_spent_between_two_looks_is_empty_where_the_bar_begins() -> None:
    """One unit/s and 300 of burst; 60/s spend them in 300 / 59 = 5.1 s, so the sixth second is the first in which something is refused."""

    def drawn(**traffic: object) -> tuple[Axes, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        table = {"pk": "K", "mode": "provisioned", "read_capacity": 1, "write_capacity": 1}
        pattern = {"name": "w", "operation": "PutItem", "arrivals": "even", **traffic}
        result = sim.run(sim.from_dict({"format": 1, "duration": 120, "table": table, "traffic": [pattern]}))
        panel = plots.draw_levels(result, axes())
        return (panel, *line(panel, "in the bucket"))

    panel, seconds, tokens = drawn(rate=60)
    assert seconds.tolist() == [0, 5, 60, 120]
    assert tokens.tolist() == [300, 0, tokens[2], tokens[3]]
    assert tokens[2:].max() < 2
    (bar,) = collection(panel, "throttled").get_paths()
    assert bar.get_extents().x0 == 5
    # A first refusal at a look, or none, needs no point; a request of 40 units is refused by what is not empty.
    assert drawn(rate=[[0, 1], [60, 400]])[1].tolist() == [0, 60, 120]
    assert drawn(rate=1)[1].tolist() == [0, 60, 120]
    assert drawn(rate=4, item_bytes=40 * 1024)[1].tolist() == [0, 60, 120]


def test_a_partitions_bucket_is_empty_at_its_first_refusal_where_it_alone_refused() -> None:
    """400 writes/s to one key, and 1,500 from 90 s on: its partition holds 1,000 and gives 1,000 a second, which is spent at 92 s."""
    document = {
        "format": 1,
        "duration": 180,
        "table": {"pk": "K", "mode": "on-demand", "partitions": 2},
        "traffic": [{"name": "w", "operation": "PutItem", "arrivals": "even", "rate": [[0, 400], [90, 1500]]}],
    }
    result = sim.run(sim.from_dict(document))
    hot = position_of("K") * 2 // HASH_SPACE
    panel = plots.draw_levels(result, axes())
    first_s = result.first_throttle_s
    assert first_s in (91, 92)
    minutes, tokens = line(panel, f"partition {hot}")
    assert (minutes * 60).tolist() == pytest.approx([0, 60, first_s, 120, 180])
    assert tokens[1:3].tolist() == [1000, 0]
    assert (line(panel, f"partition {1 - hot}")[0] * 60).tolist() == pytest.approx([0, 60, 120, 180])


def test_parts_of_a_divided_rate_are_lines_by_partition() -> None:
    result = run_of("divided-static")
    panel = plots.draw_levels(result, axes(), dimension="read")
    for number in range(3):
        minutes, tokens = line(panel, f"partition {number}")
        at_s, recorded, depth = result.table.lanes[READ].level_of(Limit.PROVISIONED, number)
        assert minutes * 60 == pytest.approx(at_s)
        assert tokens.tolist() == recorded.tolist()
        assert depth == pytest.approx(10_000, abs=0.01)
    styles = [str(one.get_linestyle()) for one in panel.lines]
    assert len(set(styles)) == len(styles) == 4
    # Partition 0 takes 80 of its 33 and refuses all along; the others never do, and have no bar of dry spells.
    assert "throttled" in legend(panel)
    calm = plots.draw_levels(result, axes(), dimension=READ, partitions=[2, 1])
    assert legend(calm) == ["partition 2", "partition 1", "depth"]
    assert calm.get_ylim()[0] == 0


def test_on_demand_the_buckets_that_refused_most_are_drawn() -> None:
    panel = plots.draw_levels(run_of("one-item"), axes())
    assert [one for one in legend(panel) if one.startswith("partition")] == [f"partition {k}" for k in range(4)]
    assert line(panel, "partition 2")[1][1:].max() < 30
    assert line(panel, "partition 1")[1].min() == 1000
    # The first four refuse a sale's 6,000 a second for minutes; their halves are as empty, and refuse less.
    sale = plots.draw_levels(run_of("flash-sale"), axes())
    assert [one for one in legend(sale) if one.startswith("partition")] == [f"partition {k}" for k in range(4)]
    result = on_demand(1, partitions=500, duration=120)
    hot = int(result.table.lanes[Dimension.WRITE].throttled_by_partition.of(500).sum(axis=1).argmax())
    many = plots.draw_levels(result, axes())
    shown = [one for one in legend(many) if one.startswith("partition")]
    assert len(shown) == 4
    assert f"partition {hot}" in shown
    assert "throttled" in legend(many)
    one = plots.draw_levels(on_demand(1, partitions=1, duration=60), axes())
    assert legend(one) == ["partition 0", "depth", "throttled"]


def test_a_bucket_lives_as_long_as_its_partition() -> None:
    result = run_of("flash-sale")
    split = result.table.splits[0]
    panel = plots.draw_levels(result, axes(), partitions=[split.partition, *split.halves])
    assert line(panel, f"partition {split.partition}")[0].max() * 60 == pytest.approx(split.at_s, abs=60)
    for half in split.halves:
        assert line(panel, f"partition {half}")[0].min() * 60 == pytest.approx(split.at_s, abs=60)


def test_a_depth_that_changes_is_drawn_as_it_changes_and_has_no_seconds_beside_it() -> None:
    result = run_of("auto-scaled")
    panel = plots.draw_levels(result, axes())
    assert line(panel, "depth")[1].tolist() == result.table.lanes[WRITE].level_of(Limit.PROVISIONED)[2].tolist()
    assert len(set(line(panel, "depth")[1])) == 3
    assert not panel.child_axes


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("burst", {"dimension": "writes"}, 'dimension \'writes\' must be "read" or "write"'),
        ("burst", {"resource": "index/x"}, "resource 'index/x' is none of this run's"),
        (
            "burst",
            {"limit": "AccountLimitExceeded"},
            'limit \'AccountLimitExceeded\' has no bucket here; there are: "provisioned", "key-range"',
        ),
        ("burst", {"limit": "account"}, "limit 'account' has no bucket here"),
        ("burst", {"limit": 7}, "limit 7 has no bucket here"),
        ("burst", {"partitions": range(100)}, r"partitions \[0, 1, … 99\], 100 numbers: the limit"),
        ("one-item", {"partitions": 5}, "partitions is a list of partitions' numbers, such as .*, not 5"),
        ("one-item", {"partitions": [0.5]}, "each of partitions is a whole number from 0, not 0.5"),
        ("burst", {"partitions": [0]}, "has one bucket for all of them"),
        ("one-item", {"partitions": [9]}, "partition 9: there are 0 to 3"),
        ("one-item", {"partitions": []}, "partitions must name at least one"),
        ("thousand", {"partitions": [999]}, "partition 999: its bucket was not looked at"),
    ],
)
def test_levels_that_cannot_be_drawn_say_why(name: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        plots.draw_levels(run_of(name), axes(), **more)


@pytest.mark.parametrize("size", [SMALL, NOTEBOOK])
@pytest.mark.parametrize("name", ["burst", "flash-sale"])
def test_no_words_overlap_in_pictures_of_levels(name: str, size: tuple[float, float]) -> None:
    panel = plots.draw_levels(run_of(name), axes(size))
    figure = panel.figure
    assert isinstance(figure, Figure)
    assert overlaps(figure) == []


# Shards.


def chance_of(shards: int, partitions: int, offered: float, ceiling: float) -> float:
    """The mean over all ways in which shards can fall into partitions, one by one."""
    ways = [np.bincount(way, minlength=partitions) for way in product(range(partitions), repeat=shards)]
    return float(np.mean([np.minimum(ceiling, held * offered / shards).sum() for held in ways]))


def test_the_law_of_balls_into_bins_is_that_of_counting_all_ways() -> None:
    for shards, partitions in ((1, 3), (2, 3), (5, 3), (6, 2), (3, 1), (4, 4)):
        for offered in (500.0, 2500.0, 9000.0):
            (law,) = expected_per_s([shards], partitions, np.array([offered]), 1000.0)
            assert law == pytest.approx(chance_of(shards, partitions, offered, 1000.0))
    # As long as each shard alone fills a partition: the ceiling times the partitions that have any shard.
    for shards in (1, 4, 10):
        (law,) = expected_per_s([shards], 10, np.array([10_000.0]), 1000.0)
        assert law == pytest.approx(1000 * 10 * (1 - 0.9**shards))
    assert expected_per_s([5000], 10, np.array([9000.0]), 1000.0)[0] == pytest.approx(9000, rel=0.001)


def test_shards_are_drawn_as_measured_between_ideal_and_law() -> None:
    runs = {n: on_demand(n, rate=9000, partitions=10) for n in (1, 4, 10)}
    panel = plots.draw_shards(runs, axes(), partitions=10)
    counts, consumed = line(panel, "consumed")
    assert counts.tolist() == [1, 4, 10]
    totals = [float(result.table.lanes[WRITE].consumed_units.sum()) / 180 for result in runs.values()]
    assert consumed == pytest.approx(totals)
    held = [len({position_of(f"S#{k}") * 10 // HASH_SPACE for k in range(n)}) for n in (1, 4)]
    assert consumed[:2] == pytest.approx(np.array(held) * 1000, rel=0.01)
    assert line(panel, "offered")[1] == pytest.approx(9000)
    assert line(panel, "ceiling of all partitions")[1] == pytest.approx(10_000)
    x, y = line(panel, "1,000 for each shard")
    assert y == pytest.approx(np.minimum(x * 1000, 9000))
    x, y = line(panel, "expected in 10 equal partitions")
    assert x.tolist() == list(range(1, 11))
    assert y[:9] == pytest.approx(10_000 * (1 - 0.9 ** x[:9]))
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("shards", "write units/s")
    assert "1,000 for each shard" not in legend(plots.draw_shards(runs, axes(), ideal=False))


def test_several_runs_of_one_count_are_a_mean_in_a_band() -> None:
    several = [on_demand(4, rate=9000, partitions=10, prefix=prefix) for prefix in "SAC"]
    panel = plots.draw_shards({1: on_demand(1, rate=9000, partitions=10), 4: several}, axes())
    found = [float(r.table.lanes[WRITE].consumed_units.sum()) / 180 for r in several]
    assert len({round(rate, -2) for rate in found}) > 1
    assert line(panel, "consumed")[1][1] == pytest.approx(np.mean(found))
    band = collection(panel, "least to most")
    assert isinstance(band, PolyCollection)
    heights = band.get_paths()[0].vertices
    assert sorted({round(y) for x, y in heights if x == 4}) == sorted({round(min(found)), round(max(found))})


def test_a_span_of_time_is_taken_where_one_is_asked_for() -> None:
    result = run_of("flash-sale")
    panel = plots.draw_shards({1: result}, axes(), between=(600, 900))
    lane = result.table.lanes[WRITE]
    assert line(panel, "consumed")[1][0] == pytest.approx(lane.consumed_units[600:900].sum() / 300)
    assert line(panel, "ceiling of all partitions")[1][0] == 4000
    whole = plots.draw_shards({1: result}, axes())
    counts = [*result.table.partition_counts, (3600.0, 0)]
    mean = sum(count * (later - at_s) for (at_s, count), (later, _) in pairwise(counts)) / 3600
    told = f"ceiling of all partitions from {amount(1000 * mean)}/s, out of view"
    assert line(whole, told)[1][0] == pytest.approx(1000 * mean)


def test_many_shards_are_on_a_scale_of_doublings() -> None:
    result = on_demand(10)
    wide = plots.draw_shards(dict.fromkeys((1, 2, 4, 8, 16, 32), result), axes(SMALL))
    assert wide.get_xscale() == "log"
    figure = wide.figure
    assert isinstance(figure, Figure)
    assert overlaps(figure) == []
    assert plots.draw_shards({1: result, 10: result}, axes()).get_xscale() == "linear"


def test_a_ceiling_out_of_view_and_runs_without_such_traffic_are_told_in_words() -> None:
    runs = {1: on_demand(10), 10: on_demand(10, partitions=500, duration=60)}
    high = plots.draw_shards({1: runs[10]}, axes())
    assert "ceiling of all partitions from 500,000/s, out of view" in legend(high)
    assert high.get_ylim()[1] < 500_000
    assert "ceiling of all partitions" in legend(plots.draw_shards(runs, axes()))
    reads = plots.draw_shards(runs, axes(), dimension="read")
    assert [text.get_text() for text in reads.texts] == ["no reads in these runs"]
    assert legend(reads) == []
    assert not plots.draw_shards(runs, axes()).texts


def test_the_rows_of_a_legend_are_even() -> None:
    assert [base.even_columns(entries, 5) for entries in (1, 5, 6, 7, 10, 11)] == [1, 5, 3, 4, 5, 4]
    figure = compared(2).plot()
    assert len(figure.legends[0].get_texts()) == 6
    assert figure.legends[0]._ncols == 3


@pytest.mark.parametrize(
    ("runs", "more", "says"),
    [
        ({}, {}, "runs is empty"),
        ({0: 10}, {}, "runs: 0 is no number of shards"),
        ({1.5: 10}, {}, "runs: 1.5 is no number of shards"),
        ({1: None}, {}, "runs: 1 shards have no run"),
        ({1: 10}, {"between": (10, 10)}, "between"),
        ({1: 10}, {"between": (10, 5)}, "0 <= from < to <= 180"),
        ({1: 10}, {"between": (0, 181)}, "between is a second of the run, 0 to 180, .* not 181"),
        ({1: 10}, {"between": (0.2, 0.7)}, "no tick of 1 s begins in that time"),
        ({float("nan"): 10}, {}, "runs: nan is no number of shards"),
        ({"1": 10}, {}, "runs: '1' is no number of shards"),
        ({1: 10}, {"between": 5}, "between 5 must be two seconds of the run"),
        ({1: 10}, {"between": (1, 2, 3)}, r"between \(1, 2, 3\) must be two seconds of the run"),
        ({1: 10}, {"between": ("a", "b")}, "between is a second of the run, .* not 'a'"),
        ({1: 10}, {"partitions": 0}, "partitions is a whole number from 1, not 0"),
        ({1: 10}, {"partitions": 1.5}, "partitions is a whole number from 1, not 1.5"),
        ({1: 10}, {"dimension": "both"}, "dimension 'both'"),
    ],
)
def test_shards_that_cannot_be_drawn_say_why(runs: dict[Any, Any], more: dict[str, Any], says: str) -> None:
    given_runs = {count: [] if keys is None else on_demand(keys) for count, keys in runs.items()}
    with pytest.raises(ValueError, match=says):
        plots.draw_shards(given_runs, axes(), **more)


# Comparisons.


@cache
def compared(count: int) -> sim.Comparison:
    names = ["burst", "one-item", "burst-suffices", "divided-static", "calm", "collection", "failures"]
    return sim.compare({name: run_of(name) for name in names[:count]})


def test_bars_are_the_shares_of_attempts_served_and_throttled() -> None:
    comparison = compared(3)
    panel = plots.draw_comparison(comparison, axes())
    served, throttled = panel.containers
    for bar, rest, variant in zip(served, throttled, comparison.variants, strict=True):
        share = variant.result.throttled_fraction
        assert (bar.get_x(), bar.get_width()) == pytest.approx((0, 1 - share))
        assert (rest.get_x(), rest.get_width()) == pytest.approx((1 - share, share))
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["burst", "one-item", "burst-\nsuffices"]
    heights = [bar.get_y() for bar in served]
    low, high = panel.get_ylim()
    assert heights == sorted(heights, reverse=bool(low < high)), "the first is on top"
    said = [text.get_text() for text in panel.texts]
    assert said[0] == "12 % throttled\n\\$72.14 a month"
    assert said[2].startswith("0 % throttled, cheapest\n")
    assert [text.get_fontweight() for text in panel.texts] == ["normal", "normal", "bold"]
    assert legend(panel) == ["served", "throttled"]
    assert panel.get_xlabel() == "share of attempts"


def limited(capacity: float = 10, partitions: int = 1, **traffic: object) -> Result:
    """A minute of 20 writes a second to provisioned capacity without burst credit, request by request."""
    table = {"pk": "{k}", "mode": "provisioned", "read_capacity": 1, "write_capacity": capacity}
    table |= {"burst_at_start": 0, "partitions": partitions}
    pattern = {"name": "w", "operation": "PutItem", "arrivals": "even", "rate": 20, **traffic}
    document = {"format": 1, "duration": 60, "level": "request", "table": table, "traffic": [pattern]}
    return sim.run(sim.from_dict({**document, "fields": {"k": {"kind": "uniform", "count": 100}}}))


def parts_of(**runs: Result) -> tuple[dict[str, list[tuple[float, float]]], Axes]:
    panel = plots.draw_comparison(sim.compare(runs), axes())
    bars: Any = panel.containers
    return {bar.get_label(): [(one.get_x(), one.get_width()) for one in bar] for bar in bars}, panel


def test_what_failed_unthrottled_or_waits_at_the_end_is_no_part_of_what_was_served() -> None:
    """An item over 400 KB fails always; a limiter of 12 a second with one second of depth lets (12 × 61 - 1) of 1,200 requests through."""
    waiting = limited(30, client={"retry": "none", "rate_limit": {"write": 12}})
    assert waiting.offered == waiting.attempts + waiting.in_flight == 1200
    parts, panel = parts_of(big=limited(item_bytes=500_000), waits=waiting, throttled=limited())
    share = waiting.in_flight / 1200
    assert share == pytest.approx(0.39, abs=0.005)
    lost = limited().throttled_fraction
    assert lost > 0.4
    assert parts["served"] == pytest.approx(np.array([(0, 0), (0, 1 - share), (0, 1 - lost)]))
    assert parts["throttled"] == pytest.approx(np.array([(0, 0), (1 - share, 0), (1 - lost, lost)]))
    assert parts["failed"] == pytest.approx(np.array([(0, 1), (1 - share, 0), (1, 0)]))
    assert parts["waiting"] == pytest.approx(np.array([(1, 0), (1 - share, share), (1, 0)]))
    assert legend(panel) == ["served", "throttled", "failed", "waiting"]
    assert [text.get_text().split("\n")[:2] for text in panel.texts[:2]] == [
        ["0 % throttled", "100 % failed"],
        ["0 % throttled", "39 % waiting"],
    ]
    assert panel.get_xlabel() == "share of attempts, made and to come"
    colours = {(bar[0].get_facecolor(), bar[0].get_hatch()) for bar in panel.containers}  # type: ignore[index]
    assert len(colours) == 4
    few, _ = parts_of(nearly=limited(30, client={"retry": "none", "rate_limit": {"write": 19.5}}))
    assert list(few) == ["served", "throttled"], "under 5 % are not told"


def test_what_an_open_breaker_kept_back_failed_and_was_not_served() -> None:
    result = limited(1, client={"retry": "none", "circuit_breaker": {"failures": 3, "reset": "5s"}})
    unsent = result.failures[ErrorName.BREAKER_OPEN]
    assert unsent > 100
    assert unsent + result.attempts == 1200
    parts, _ = parts_of(breaker=result)
    assert [parts[part][0][1] * 1200 for part in parts] == pytest.approx(
        [result.attempts - result.throttled, result.throttled, unsent]
    )


def test_a_run_without_traffic_has_no_bar() -> None:
    panel = plots.draw_comparison(sim.compare({"nobody": run_of("nobody"), "burst": run_of("burst")}), axes())
    assert next(iter(panel.containers[0])).get_width() == 0
    assert panel.texts[0].get_text().startswith("no traffic")


@pytest.mark.parametrize("count", [2, 4])
def test_small_multiples_have_the_same_scales_one_legend_and_a_verdict_each(count: int) -> None:
    comparison = compared(count)
    figure = comparison.plot()
    assert len(figure.legends) == 1
    assert [panel for panel in figure.axes if panel.get_legend() is not None] == []
    maps = [panel for panel in figure.axes if panel.get_title(loc="left").startswith("Partitions")]
    rates = [panel for panel in figure.axes if panel.get_title(loc="left").endswith("\n")]
    assert len(maps) == len(comparison.variants)
    kinds = 2 if count == 4 else 1  # the fourth run throttles reads, which are then shown of all
    assert len(figure.axes) == (kinds + 1) * count + 1
    for variant, panel in zip(comparison.variants, rates, strict=True):
        best = " ✓" if variant is comparison.cheapest else ""
        assert panel.get_title(loc="left").strip() == variant.title + best
        said = " ".join(panel.texts[-1 - ("out of view" in panel.texts[-1].get_text())].get_text().split()).lower()
        assert said in {verdict(variant.result).lower()}
    assert len({panel.images[0].norm.vmax for panel in maps}) == 1
    by_label: dict[str, set[tuple[float, float]]] = {}
    for place, panel in enumerate(figure.axes[: (kinds + 1) * count]):
        columns = 2
        row = place // columns % (kinds + 1)
        if row < kinds:
            by_label.setdefault(str(row), set()).add(panel.get_ylim())
    assert [len(limits) for limits in by_label.values()] == [1] * kinds
    assert {"consumed", "throttled", "offered", "capacity"} <= {
        text.get_text() for text in figure.legends[0].get_texts()
    }


def test_the_colours_of_loads_mean_the_same_in_all_maps() -> None:
    figure = compared(2).plot()
    maps = [panel for panel in figure.axes if panel.get_title(loc="left").startswith("Partitions")]
    assert {(panel.images[0].norm.vmin, panel.images[0].norm.vmax) for panel in maps} == {(0.0, 1.0)}
    alone = plots.draw_partitions(run_of("burst"), axes())
    assert alone.images[0].norm.vmax == pytest.approx(0.5)


@cache
def indexed() -> Result:
    """Updates that change an index's key, which costs the index two units each: 800 a second in its one partition, 200 in each of two."""
    gsi = {"name": "hot", "pk": "H", "read_capacity": 1, "write_capacity": 500, "burst_at_start": 0}
    table = {"pk": "{k}", "mode": "provisioned", "read_capacity": 1, "write_capacity": 1000, "partitions": 2}
    update = {"operation": "UpdateItem", "rate": 400, "arrivals": "even", "touches": {"hot": "key-changed"}}
    document = {"format": 1, "duration": 120, "table": {**table, "gsi": [gsi]}, "traffic": [{"name": "w", **update}]}
    return sim.run(sim.from_dict({**document, "fields": {"k": {"kind": "uniform", "count": 1000}}}))


def test_in_one_picture_the_darker_map_is_the_more_loaded() -> None:
    result = indexed()
    figure = plots.plot_run(result)
    maps = [panel for panel in figure.axes if panel.images]
    assert [panel.get_title(loc="left") for panel in maps] == ["Partitions: 2", "Partitions of index/hot: 1"]
    alone = [plots.draw_partitions(result, axes(), resource=name).images[0].norm.vmax for name in result.resources]
    assert alone[0] != alone[1]
    assert [panel.images[0].norm.vmax for panel in maps] == [max(alone)] * 2  # type: ignore[type-var]
    assert len({tuple(panel.child_axes[0].get_ylim()) for panel in maps}) == 1


def test_the_darkest_shade_is_what_it_is_asked_to_be() -> None:
    result = on_demand(10)
    assert plots.draw_partitions(result, axes(), most=0.35).images[0].norm.vmax == 0.35
    ring = plots.draw_ring(result, axes(), most=0.35)
    assert collection(ring, "load").norm.vmax == 0.35
    assert ring.child_axes[0].get_xlabel() == "consumed, of ceiling (clipped)"
    assert plots.draw_ring(result, axes(), most=1).child_axes[0].get_xlabel() == "consumed, of ceiling"
    for draw in (plots.draw_ring, plots.draw_partitions):
        for most in (0, 1.01, "1", float("nan"), True):
            with pytest.raises(ValueError, match="most is a share of the ceiling, above 0 and up to 1, not"):
                draw(result, axes(), most=most)


def test_six_runs_stand_in_two_rows_and_no_words_overlap() -> None:
    figure = plots.plot_comparison(compared(6))
    assert figure.get_figwidth() == 10
    lefts = sorted({round(panel.get_position().x0, 1) for panel in figure.axes[:6]})
    assert len(lefts) == 3
    assert overlaps(figure) == []


def test_capacity_out_of_view_is_told() -> None:
    def told(**runs: Result) -> list[str]:
        figure = plots.plot_comparison(sim.compare(runs))
        said = [text.get_text() for panel in figure.axes for text in panel.texts]
        return [text for text in said if "out of view" in text]

    # 60 writes/s of 500 and 1,500 of 4,000: on the scale of both, 500 is in view.
    assert told(idle=run_of("mostly-idle"), hot=run_of("one-item")) == ["capacity 4,000/s, out of view"]
    assert told(idle=run_of("mostly-idle")) == ["capacity 500/s, out of view"]


def test_a_comparison_is_saved_whole_and_the_same_each_time(tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}.svg" for k in range(2)]
    for path in paths:
        plots.save_comparison(compared(2), path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(b"<?xml")
    assert first == second


# All of them.


def test_hostile_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    result = weighted(tuple(HOSTILE))
    for k, size in enumerate((SMALL, NOTEBOOK)):
        figure = Figure(figsize=size, layout="constrained")
        ring, levels = figure.subplots(1, 2)
        plots.draw_ring(result, ring, keys=20)
        plots.draw_levels(result, levels)
        said = [text.get_text() for text in ring.texts]
        assert len([text for text in said if text.endswith(" %")]) == len(HOSTILE)
        assert any(r"\$x" in text for text in said)
        assert not any("\n" in text for text in said)
        base.with_canvas(figure)
        save_figure(lambda figure=figure: figure, tmp_path / f"{k}.png")
    comparison = sim.compare(dict.fromkeys(HOSTILE, result))
    figure = Figure(figsize=NOTEBOOK)
    plots.draw_comparison(comparison, base.with_canvas(figure).subplots())
    save_figure(lambda: figure, tmp_path / "bars.png")
    plots.save_comparison(sim.compare(dict.fromkeys(HOSTILE[:3], result)), tmp_path / "all.png")


def test_titles_in_scripts_that_no_font_has_are_shown_in_a_notebook_in_silence(tmp_path: Path) -> None:
    """Warnings are errors here; a notebook shows a figure by its PNG, or, with pyplot, prints it with a tight box."""
    result = weighted(("表の", "表の2"), 1)
    comparison = sim.compare({"表": result, "テ": result})
    for figure in (plots.plot_run(result), plots.plot_comparison(comparison)):
        assert isinstance(figure, base.Picture)
        assert figure._repr_png_().startswith(b"\x89PNG")
        figure.savefig(tmp_path / "a.svg")
        figure.canvas.print_figure(tmp_path / "b.png", bbox_inches="tight")
    with pytest.warns(UserWarning, match="Glyph"):  # which a figure that is not of ours still gives
        Figure().text(0, 0, "表").figure.savefig(tmp_path / "c.png")  # type: ignore[union-attr]


def test_a_figure_too_small_for_what_is_in_it_is_drawn_in_silence(tmp_path: Path) -> None:
    result = on_demand(10)
    for draw in (plots.draw_ring, plots.draw_levels):
        figure = plots.figure(height_inches=1, width_inches=1)
        draw(result, figure.subplots())
        assert figure._repr_png_()
    for made, of in ((plots.plot_run, result), (plots.plot_comparison, compared(2))):
        mine = Figure(figsize=(1, 1))
        made(of, mine).savefig(tmp_path / "a.png")


def test_a_share_stands_behind_its_key_in_every_script() -> None:
    """A percentage after Arabic letters would be drawn before them; an invisible mark ends what runs from right to left."""
    panel = plots.draw_ring(weighted(("اسم", "alice")), axes())
    said = [text.get_text() for text in panel.texts if "%" in text.get_text()]
    assert sorted(said) == ["alice  33 %", "\u200eاسم\u200e  67 %"]
    title = plots.plot_comparison(sim.compare({"اسم": on_demand(10)})).axes[0].get_title(loc="left")
    assert title.strip().startswith("\u200eاسم\u200e")


def lightness(colour: str | Sequence[float]) -> float:
    """CIE L* of a colour, 0 to 100: what is left of it in print without colour."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_areas_side_by_side_differ_in_lightness_or_by_a_hatch() -> None:
    assert lightness("white") == pytest.approx(100)
    assert lightness("#777777") == pytest.approx(50, abs=0.5)
    beside = [
        (base.CONSUMED_COLOUR, base.THROTTLED_COLOUR),  # rates, bars
        (base.CONSUMED_COLOUR, "white"),
        (base.THROTTLED_COLOUR, base.SLIGHTLY_THROTTLED_COLOUR),  # map, ring
        (base.THROTTLED_COLOUR, base.THROTTLED_HATCH_COLOUR),  # the hatch on its ground
        (base.SLIGHTLY_THROTTLED_COLOUR, base.THROTTLED_COLOUR),
        (base.KEY_COLOUR, base.THROTTLED_COLOUR),
        (base.KEY_COLOUR, "black"),
        (base.LEVEL_COLOUR, "white"),
        (base.ALARM_COLOUR, "white"),
        (base.CAPACITY_COLOUR, base.CONSUMED_COLOUR),
        (base.FAILED_COLOUR, base.THROTTLED_COLOUR),  # bars
        (base.FAILED_COLOUR, base.FAILED_HATCH_COLOUR),
        (base.WAITING_COLOUR, "white"),
    ]
    for one, other in beside:
        assert abs(lightness(one) - lightness(other)) >= 12, (one, other)
    # Loads go through all lightnesses, so what is laid over them has a hatch: two that differ.
    panel = plots.draw_partitions(run_of("one-item"), axes())
    assert [patch.get_hatch() for patch in panel.patches] == [base.HATCH]
    assert base.HATCH != base.WIDE_HATCH
    both = plots.draw_partitions(run_of("ten-suffixes"), axes())
    assert {patch.get_hatch() for patch in both.patches} == {base.HATCH, base.WIDE_HATCH}
    drawn = both.get_legend()
    assert drawn is not None
    assert [patch.get_hatch() for patch in drawn.get_patches()][:2] == [base.HATCH, base.WIDE_HATCH]


def test_the_hatch_covers_what_is_throttled_and_nothing_else() -> None:
    panel = plots.draw_partitions(run_of("one-item"), axes())
    (hatch,) = panel.patches
    extent = hatch.get_path().get_extents()
    assert (extent.x0, extent.x1, extent.y0, extent.y1) == pytest.approx((0, 30, 2, 3))


def test_a_hot_partition_among_thousands_is_seen() -> None:
    result = run_of("thousand")
    panel = plots.draw_partitions(result, axes(SMALL))
    image = np.ma.filled(np.ma.asarray(panel.images[1].get_array()), 0)
    rows = len(image)
    assert rows <= panel.get_window_extent().height
    hot = position_of("USER#0") / HASH_SPACE
    assert image[int(hot * rows)].all()


def test_reads_and_writes_are_taken_by_their_words_in_every_picture() -> None:
    by_word, by_member = (plots.draw_rates(run_of("divided-static"), d, axes()) for d in ("read", READ))
    assert by_word.get_title(loc="left") == by_member.get_title(loc="left") == "Reads"
    assert [p.get_label() for p in by_word.patches] == [p.get_label() for p in by_member.patches]
    with pytest.raises(ValueError, match="dimension 'reads'"):
        plots.draw_rates(run_of("divided-static"), "reads", axes())
    with pytest.raises(ValueError, match="resource 'x'"):
        plots.draw_partitions(run_of("divided-static"), axes(), resource="x")


def test_each_function_returns_the_axes_that_it_was_given() -> None:
    panel = axes()
    assert plots.draw_ring(on_demand(10), panel) is panel
    assert [type(c) for c in panel.collections if isinstance(c, LineCollection)] == []
    assert isinstance(panel.collections[0], PatchCollection)
    for draw in (plots.draw_levels, plots.draw_partitions):
        panel = axes()
        assert draw(on_demand(10), panel) is panel
    panel = axes()
    assert plots.draw_comparison(compared(2), panel) is panel


def test_the_public_door_has_every_picture() -> None:
    drawn = {"comparison", "levels", "partitions", "rates", "ring", "shards"}
    made = {"plot_run", "plot_comparison", "save_run", "save_comparison"}
    assert set(plots.__all__) == {f"draw_{name}" for name in drawn} | made | {
        "figure",
        "Figure",
        "Picture",
        "band_places",
    }
    assert all(callable(getattr(plots, name)) for name in plots.__all__)


def test_a_key_on_the_ring_lies_in_as_many_partitions_as_served_at_that_second() -> None:
    """Likes of a viral post are split between sort keys at 480 s: one partition before, two after."""
    result = sim.run(models.scenarios.load("bad-viral-items"))
    split_s = result.table.splits[0].at_s

    def viral(at_s: float) -> str:
        texts = [text.get_text() for text in plots.draw_ring(result, axes(), at_s=at_s).texts]
        (label,) = [text for text in texts if "50 %" in text]
        return label

    assert "partitions" not in viral(split_s - 60)
    assert viral(split_s).endswith(", 2 partitions")


SCENARIO = sim.Scenario(
    duration=60, table=sim.Table(pk="K", mode="on-demand"), traffic=[sim.Traffic(name="w", operation="PutItem", rate=1)]
)
DRAWN = [
    plots.draw_levels,
    plots.draw_partitions,
    plots.draw_ring,
    lambda result, panel: plots.draw_rates(result, "write", panel),
    lambda result, panel: plots.draw_shards({1: result}, panel),
]


@pytest.mark.parametrize("draw", DRAWN)
def test_what_is_no_result_or_no_axes_is_told(draw: Any) -> None:
    for other in (SCENARIO, None):
        with pytest.raises(
            TypeError, match=r"a picture is of a result: sim\.run\(scenario\) makes one; not (a Scenario|None)"
        ):
            draw(other, axes())
    for other in (None, Figure()):
        with pytest.raises(
            TypeError, match=r"give an Axes: plots\.figure\(\)\.subplots\(\) makes one; not (None|a Figure)"
        ):
            draw(on_demand(10), other)


def test_what_whole_pictures_are_not_made_of_is_told() -> None:
    result: Any = on_demand(10)
    for other in (SCENARIO, None, compared(2)):
        with pytest.raises(TypeError, match=r"sim\.run\(scenario\) makes one"):
            plots.plot_run(other)
    for given_instead in ({"a": result}, [result], result, None):
        for draw in (plots.plot_comparison, lambda other: plots.draw_comparison(other, axes())):
            with pytest.raises(TypeError, match=r"sim\.compare\(\{\.\.\.\}\) makes a comparison"):
                draw(given_instead)
    panel: Any = axes()
    for picture, of in ((plots.plot_run, result), (plots.plot_comparison, compared(2))):
        with pytest.raises(TypeError, match="figure is a Figure, or None for a new one; not a"):
            picture(of, panel)
    with pytest.raises(TypeError, match="give an Axes"):
        plots.draw_comparison(compared(2), None)
    with pytest.raises(TypeError, match="the dimension comes before the Axes"):
        plots.draw_rates(result, panel, panel)
    with pytest.raises(TypeError, match="runs is a run, or several, by the number of shards"):
        plots.draw_shards([result], panel)
    for inches in (0, -1, float("nan"), "3", 301):
        with pytest.raises(ValueError, match="height_inches is a number above 0 and up to 300, not"):
            plots.figure(height_inches=inches)


def test_times_and_limits_are_taken_in_words() -> None:
    result = on_demand(10)
    by_word, by_number = (plots.draw_ring(result, axes(), at_s=at) for at in ("1m30s", 90))
    assert [t.get_text() for t in by_word.texts] == [t.get_text() for t in by_number.texts]
    by_word, by_number = (plots.draw_shards({1: result}, axes(), between=of) for of in (("1m", "2m"), (60, 120)))
    assert line(by_word, "consumed")[1].tolist() == line(by_number, "consumed")[1].tolist()
    assert line(plots.draw_levels(run_of("burst"), axes(), limit="provisioned"), "depth")[1][0] == 45_000
    assert line(plots.draw_levels(run_of("burst"), axes(), limit="key-range"), "depth")[1][0] == 1000


def test_small_multiples_show_the_index_that_refuses() -> None:
    """One shard against ten of an index by status: the table is idle in both, and the index is where it happens."""
    pair = {n: f"good-sharded-gsi{tail}" for n, tail in (("one", "-one-shard"), ("ten", ""))}
    runs = {n: sim.run(sim.with_overrides(models.scenarios.load(name), {"duration": "2m"})) for n, name in pair.items()}
    comparison = sim.compare(runs)
    (index,) = [resource for resource in runs["one"].resources if resource != "table"]
    figure = plots.plot_comparison(comparison)
    assert f"of {index}" in figure.axes[0].get_ylabel()
    (consumed,) = [patch for patch in figure.axes[0].patches if patch.get_label() == "consumed"]
    values, edges, _ = consumed.get_data()  # type: ignore[attr-defined]
    units = runs["one"].resources[index].lanes[Dimension.WRITE].consumed_units.sum()
    assert float((values * np.diff(edges)).sum()) == pytest.approx(units)  # edges are seconds in a run of two minutes
    table = plots.plot_comparison(comparison, resource="table")
    assert table.axes[0].get_ylabel() == "write units/s"
    with pytest.raises(ValueError, match="index/none"):
        plots.plot_comparison(comparison, resource="index/none")
