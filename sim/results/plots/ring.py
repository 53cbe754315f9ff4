"""The hash ring: partitions as arcs of a circle, hot keys as dots where their hashes lie."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Wedge

from sim.keyspace.domain import Floats, Ints
from sim.keyspace.hashing import HASH_SPACE
from sim.keyspace.position import Position
from sim.names import TABLE
from sim.results.bottleneck import period_edges_s
from sim.results.phrases import clock, name, percent, plural
from sim.results.plots.arguments import check_drawn, record_of, second_of, share_of_ceiling, whole_number
from sim.results.plots.base import (
    CHARACTER_EM,
    HATCH,
    KEY_COLOUR,
    LOAD_COLOURS,
    TABLE_LIMIT_COLOUR,
    TITLE_POINTS,
    columns_of,
    isolated,
    legend,
    literal,
    size_inches,
)
from sim.results.plots.loads import (
    BAR_INCHES,
    LITTLE,
    MORE,
    load_bar,
    load_scale,
    loads,
    mean_loads,
    table_limit_patch,
    table_limit_spans,
    throttled_marks,
    throttled_patch,
)
from sim.results.recorder import KeyTally, PartitionRecord

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

HOT_FRACTION = 0.002  # of a resource's units: a key with less is no hot key
FAMILY_MAX = 32  # keys of one prefix up to which they are taken for shards of one key, and shown together
_INNER, _OUTER = 0.8, 1.0  # radii of the ring
_LIMIT_INNER = 0.72  # radius of the hatched ring of the table's limit, inside the other
_DOTS_AT = 1.06  # just outside the ring, so that a dot hides no narrow arc
_LABELS_AT, _TOP = 1.24, 1.36  # radius of the circle of names; half the picture's height where it is wide enough
_RADIUS_FRACTION_MIN = 0.62  # of half the picture: names are cut short rather than the ring made smaller
_ARCS_MAX = 720  # more partitions than this are shown by the most loaded of each half degree
_RULED_ARCS = 128
_NUMBERED_ARCS = 24
_NUMBERS_AT, _NUMBER_POINTS = 0.72, 11
_SLIVER = 1 / 300  # of the circle: width of a partition inside one item collection, which has none
_LABEL_POINTS = 8.5
_LABEL_CHARACTERS_MAX, _LABEL_CHARACTERS_MIN = 20, 9
_SHARE_CHARACTERS = 7
_WITH_MARGINS = 1.15  # names may stand in the margins of a panel, which has nothing else there
_DOT_AREA_MAX = 260.0  # square points, of a key that has all the load
_DOT_AREA_MIN = 18.0
_MARKERS = ("s", "^", "D", "P", "v", "p")  # of shards of one key, the most loaded first; others are round
_LEADER: Mapping[str, Any] = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
_LAST_PART = re.compile(r".*[#:/|._-](?=.)", flags=re.DOTALL)


@dataclass(frozen=True)
class Dot:
    """A key on the ring.

    Attributes
    ----------
    position : its place in the hash space.
    share : of the units asked of the resource.
    partitions : over how many it lies.
    family : what it and other keys begin with, "" where it stands alone.
    """

    key: str
    position: int
    share: float
    partitions: int
    family: str

    @property
    def at(self) -> float:
        """Its place as a fraction of the circle."""
        return self.position / HASH_SPACE


def draw_ring(
    result: Outcome,
    axes: Axes,
    *,
    resource: str = TABLE,
    at_s: float | str | None = None,
    keys: int = 8,
    most: float | None = None,
) -> Axes:
    """Draw the hash space of a resource as a ring, clockwise from the top: partitions as arcs, hot keys as dots where their hashes lie.

    An arc is as wide as its partition's range, and coloured by what it consumed of its ceiling, in the colours of `draw_partitions`; where
    it refused something itself it has the colour of throttling. What a limit of the whole table refused is no partition's doing: a hatched
    ring inside the other tells that it did. A partition inside one item collection has no width: it is a sliver beside the others of that
    place. A dot's area is the key's share of the units asked over the run; keys that differ in their last part alone, as the shards of one
    key do, have one marker.

    Parameters
    ----------
    at_s : draw the partitions that served at this second (or time, ``"5m"``), with their loads of that period, 0 to the run's duration.
        None: those at the end of the run, each with its mean load over all the time that it served.
    keys : hot keys shown at most, from 0; shards of one key (at most 32) count as one and are shown together. Keys with less than 0.2 % of
        the units are not hot, and names for which there is no room are left out, the least loaded first.
    most : share of the ceiling for which the darkest shade stands, above 0 and up to 1. None: chosen by the data.

    Raises
    ------
    TypeError
        No result, or no Axes.
    ValueError
        There is no such resource, second, number of keys, or share.
    """
    check_drawn(result, axes)
    record = record_of(result, resource)
    if at_s is not None:
        at_s = second_of("at_s", at_s, result)
    keys = whole_number("keys", keys, 0)
    darkest = share_of_ceiling(most)
    standing = _standing(record.partitions, result.grid.duration_s if at_s is None else at_s)
    load, refused = _colours(result, resource, standing, at_s)
    greatest = float(load.max(initial=0.0))
    spans = _spans(standing)
    if len(standing) > _ARCS_MAX:
        spans, load, refused = _fewer(spans, load, refused)
    arcs = _draw_arcs(spans, load, refused, load_scale(greatest, darkest), axes)
    by_table = _is_limited(result, resource, at_s)
    if by_table:
        _draw_table_limit(resource, axes)
    dots = hot_keys(result, resource, keys)
    if at_s is not None:
        dots = [replace(dot, partitions=min(dot.partitions, _holding(standing, dot.position))) for dot in dots]
    scale, longest = _set_view(dots, axes)
    for partition, span in zip(standing, spans, strict=False):
        numbers_at = _NUMBERS_AT - (_INNER - _LIMIT_INNER if by_table else 0.0)
        room = 2 * np.pi * numbers_at * scale * (span[1] - span[0])
        if 1 < len(standing) <= _NUMBERED_ARCS and room > _NUMBER_POINTS:
            x, y = _point(float(span.mean()), numbers_at)
            axes.text(x, y, f"{partition.number}", ha="center", va="center", fontsize=8, color="0.3")
    when = "load of the whole run" if at_s is None else f"load at {clock(at_s)}"
    axes.text(
        0, 0.06, plural(len(standing), "partition"), ha="center", va="bottom", fontsize=max(9.0, min(12.0, scale / 9))
    )
    axes.text(0, -0.02, when, ha="center", va="top", fontsize=max(7.0, min(9.0, scale / 11)), color="0.3")
    entries: list[tuple[Patch | Line2D, str]] = [
        throttled_patch(kind) for kind in (MORE, LITTLE) if (refused == kind).any()
    ]
    if by_table:
        entries.append(table_limit_patch(resource))
    entries += _draw_dots(dots, axes)
    _draw_names(dots, scale, longest, axes)
    load_bar(axes, arcs, greatest, below=True)
    where = "" if resource == TABLE else f" of {literal(name(resource))}"
    axes.set_title(f"Hash ring{where}", loc="left", fontsize=TITLE_POINTS)
    legend(axes, [handle for handle, _ in entries], [label for _, label in entries], columns=3)
    return axes


def hot_keys(result: Outcome, resource: str, most: int) -> list[Dot]:
    """The hot keys of a resource, most loaded first, shards of one key together and counted as one."""
    tallies = [tally for (of, _), tally in result.recorder.keys.items() if of == resource]
    asked = sum(float(lane.offered_units.sum()) for lane in result.resources[resource].lanes.values())
    members: dict[str, list[KeyTally]] = {}
    for tally in tallies:
        members.setdefault(_prefix(tally.key), []).append(tally)
    families = {prefix for prefix, of in members.items() if prefix and 2 <= len(of) <= FAMILY_MAX}
    groups: dict[tuple[str, str], list[Dot]] = {}
    for tally in tallies:
        share = tally.offered_units / asked if asked else 0.0
        prefix = _prefix(tally.key)
        family = prefix if prefix in families else ""
        if share >= HOT_FRACTION:
            dot = Dot(tally.key, tally.position, share, tally.partitions, family)
            groups.setdefault((family, "" if family else tally.key), []).append(dot)
    heaviest = sorted(groups.values(), key=lambda of: (-round(sum(dot.share for dot in of), 9), of[0].key))[:most]
    return [dot for of in heaviest for dot in sorted(of, key=lambda dot: (-round(dot.share, 9), dot.key))]


def spread_out(wanted: Floats, gap: float, low: float, high: float) -> Floats:
    """Places for labels: in the order of the places wanted, at least ``gap`` apart, within [low, high], and as near as may be.

    The sum of the squared ways is the least (pool adjacent violators). ``wanted`` increases, and there is room: (n - 1) × gap fits.
    """
    steps = np.arange(len(wanted)) * gap
    pools: list[tuple[float, int]] = []
    for place in wanted - steps:
        mean, count = float(place), 1
        while pools and pools[-1][0] >= mean:
            before, many = pools.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        pools.append((mean, count))
    pooled = np.array([mean for mean, count in pools for _ in range(count)])
    return np.asarray(np.clip(pooled, low, high - (steps[-1] if len(steps) else 0.0)) + steps)


def _prefix(key: str) -> str:
    """What a key begins with, up to its last part: ``STATS#`` of ``STATS#7``; "" where it has one part."""
    found = _LAST_PART.match(key)
    return found.group() if found else ""


def _standing(partitions: Sequence[PartitionRecord], at_s: float) -> list[PartitionRecord]:
    """The partitions that serve at a moment, in the order of the hash space."""
    alive = [p for p in partitions if p.born_s <= at_s and (p.retired_s is None or at_s < p.retired_s)]
    return sorted(alive, key=lambda p: p.low)


def _holding(standing: Sequence[PartitionRecord], position: int) -> int:
    """In how many of these partitions items of one key can lie."""
    first, after = Position(position, 0), Position(position + 1, 0)
    return sum(p.low < after and first < p.high for p in standing)


def _colours(
    result: Outcome, resource: str, standing: Sequence[PartitionRecord], at_s: float | None
) -> tuple[Floats, Ints]:
    """Load and refusals of some partitions."""
    numbers = [partition.number for partition in standing]
    if at_s is None:
        load, refused = mean_loads(result, resource)
        return load[numbers], refused[numbers]
    load, refused = loads(result, resource)
    period = _period(result, at_s)
    return load[numbers, period], refused[numbers, period]


def _is_limited(result: Outcome, resource: str, at_s: float | None) -> bool:
    """Whether a limit of the whole table or index refused something, in the period of a second or at all."""
    spans = table_limit_spans(result, resource)
    if at_s is None:
        return bool(spans)
    edges_s = period_edges_s(result)
    period = _period(result, at_s)
    return any(begin < edges_s[period + 1] and edges_s[period] < end for begin, end in spans)


def _draw_table_limit(resource: str, axes: Axes) -> None:
    ring = Wedge((0, 0), _INNER - 0.01, 0, 360, width=_INNER - 0.01 - _LIMIT_INNER)
    label = table_limit_patch(resource)[1]
    axes.add_collection(
        PatchCollection([ring], facecolor="none", edgecolor=TABLE_LIMIT_COLOUR, hatch=HATCH, linewidth=0, label=label)
    )


def _period(result: Outcome, at_s: float) -> int:
    """The period in which a second lies; the end of the run is in the last."""
    return min(int(np.searchsorted(result.period_starts_s, at_s, side="right")) - 1, result.grid.periods - 1)


def _spans(standing: Sequence[PartitionRecord]) -> Floats:
    """Begin and end of each partition's arc, as fractions of the circle."""
    spans = np.array([(p.low.hash / HASH_SPACE, p.high.hash / HASH_SPACE) for p in standing])
    inside = np.flatnonzero([p.low.hash == p.high.hash for p in standing])
    for place in np.unique(spans[inside, 0]):
        here = inside[spans[inside, 0] == place]
        edges = place + _SLIVER * (np.arange(len(here) + 1) - len(here) / 2)
        spans[here] = np.column_stack([edges[:-1], edges[1:]])
    return spans


def _fewer(spans: Floats, load: Floats, refused: Ints) -> tuple[Floats, Floats, Ints]:
    """So many arcs as can be told apart, each as the most loaded of its partitions."""
    place = np.minimum((spans.mean(axis=1) * _ARCS_MAX).astype(np.int64), _ARCS_MAX - 1)
    edges = np.arange(_ARCS_MAX + 1) / _ARCS_MAX
    loaded, worst = np.zeros(_ARCS_MAX), np.zeros(_ARCS_MAX, dtype=np.int64)
    np.maximum.at(loaded, place, load)
    np.maximum.at(worst, place, refused)
    return np.column_stack([edges[:-1], edges[1:]]), loaded, worst


def _draw_arcs(spans: Floats, load: Floats, refused: Ints, scale: Normalize, axes: Axes) -> PatchCollection:
    """The ring; those that refused something are laid over the others. Slivers come last, so that nothing hides them."""
    wedges = [Wedge((0, 0), _OUTER, 90 - 360 * high, 90 - 360 * low, width=_OUTER - _INNER) for low, high in spans]
    rule = {"edgecolor": "white", "linewidth": 1.0} if len(spans) <= _RULED_ARCS else {"linewidth": 0.0}
    order = np.argsort(spans[:, 0] - spans[:, 1], kind="stable")
    arcs = PatchCollection([wedges[k] for k in order], cmap=LOAD_COLOURS, norm=scale, **rule)
    arcs.set_array(load[order])
    arcs.set_label("load")
    axes.add_collection(arcs)
    for how_much in (LITTLE, MORE):
        these = [wedges[k] for k in order if refused[k] == how_much]
        if these:
            colour, hatch, of_hatch = throttled_marks(how_much)
            label = throttled_patch(how_much)[1]
            axes.add_collection(PatchCollection(these, facecolor=colour, label=label, **rule))
            hatched = PatchCollection(these, facecolor="none", edgecolor=of_hatch, hatch=hatch, linewidth=0.0)
            axes.add_collection(hatched)
    outline = [Wedge((0, 0), _OUTER, 0, 360, width=_OUTER - _INNER)]
    axes.add_collection(PatchCollection(outline, facecolor="none", edgecolor="0.5", linewidth=0.6))
    return arcs


def _set_view(dots: Sequence[Dot], axes: Axes) -> tuple[float, int]:
    """A view without axes, in which the ring is round and has room for names at both sides.

    Returns the points that its radius has, and the characters that a name may have.
    """
    width, height = (inches * 72 for inches in size_inches(axes))
    half = _WITH_MARGINS * width / 2
    height -= 72 * BAR_INCHES
    characters = max((columns_of(_label(dot, _LABEL_CHARACTERS_MAX)) for dot in dots), default=0)
    beside = characters * CHARACTER_EM * _LABEL_POINTS
    least = _RADIUS_FRACTION_MIN * min(half, height / 2)
    radius = max(least, min(height / 2 / _TOP, (half - beside) / _LABELS_AT))
    across, up = width / 2 / radius, height / 2 / radius
    axes.set(xlim=(-across, across), ylim=(-up - 72 * BAR_INCHES / radius, up), xticks=[], yticks=[], frame_on=False)
    axes.set_aspect("equal", adjustable="box")
    fitting = int((half - _LABELS_AT * radius) / (CHARACTER_EM * _LABEL_POINTS)) - _SHARE_CHARACTERS
    return radius, min(_LABEL_CHARACTERS_MAX, max(_LABEL_CHARACTERS_MIN, fitting))


def _point(at: float, radius: float) -> tuple[float, float]:
    """Where a fraction of the hash space lies, clockwise from the top."""
    angle = 2 * np.pi * at
    return float(radius * np.sin(angle)), float(radius * np.cos(angle))


def _draw_dots(dots: Sequence[Dot], axes: Axes) -> list[tuple[Patch | Line2D, str]]:
    """The keys, in a marker for each family; returns the legend's entries of the families."""
    families = list(dict.fromkeys(dot.family for dot in dots if dot.family))
    entries: list[tuple[Patch | Line2D, str]] = []
    markers = dict(zip(families, _MARKERS, strict=False))
    for family in dict.fromkeys(dot.family for dot in dots):
        these = [dot for dot in dots if dot.family == family]
        marker = markers.get(family, "o")
        x, y = np.array([_point(dot.at, _DOTS_AT) for dot in these]).T
        area = [max(_DOT_AREA_MIN, _DOT_AREA_MAX * dot.share) for dot in these]
        label = (
            f"{isolated(literal(name(family, longest=_LABEL_CHARACTERS_MAX)))}…: {len(these)} keys"
            if family
            else "hot key"
        )
        axes.scatter(
            x, y, s=area, marker=marker, color=KEY_COLOUR, edgecolors="black", linewidths=1.0, zorder=4, label=label
        )
        handle = Line2D(
            [],
            [],
            linestyle="none",
            marker=marker,
            markersize=7,
            markerfacecolor=KEY_COLOUR,
            markeredgecolor="black",
        )
        entries.append((handle, label))
    return entries


def _draw_names(dots: Sequence[Dot], radius_points: float, longest: int, axes: Axes) -> None:
    """Names outside the ring, with lines that lead to the dots, in a column at either side in which none overlap."""
    gap = 1.35 * _LABEL_POINTS / radius_points
    reach = axes.get_ylim()[1] - gap / 2
    room = int(2 * reach / gap) + 1
    for side in (1, -1):
        named = sorted((dot for dot in dots if (dot.at < 0.5) == (side == 1)), key=lambda dot: -dot.share)[:room]
        named.sort(key=lambda dot: _point(dot.at, 1)[1])
        wanted = np.array([_point(dot.at, _LABELS_AT)[1] for dot in named])
        for dot, y in zip(named, spread_out(wanted, gap, -reach, reach), strict=True):
            x = side * max(0.12, float(np.sqrt(max(0.0, _LABELS_AT**2 - y**2))))
            axes.annotate(
                _label(dot, longest),
                _point(dot.at, _DOTS_AT),
                xytext=(x, y),
                ha="left" if side == 1 else "right",
                va="center",
                fontsize=_LABEL_POINTS,
                arrowprops={**_LEADER, "relpos": (0.5 - side / 2, 0.5)},
            )


def _label(dot: Dot, longest: int) -> str:
    """A key's name and share, of a shard with a long name its last part, and in how many partitions it lies where these are several."""
    key = dot.key
    if dot.family and len(key) > longest:
        key = f"…{key.removeprefix(dot.family)}"
    several = f", {dot.partitions} partitions" if dot.partitions > 1 else ""
    return f"{isolated(literal(name(key, longest=longest)))}  {percent(dot.share)}{several}"
