"""Walks of pages at the request level: each request of a Query or Scan asks for its next page when the last one is answered."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from sim.levels.demand import Walking
from sim.levels.patterns import Pattern, Patterns
from sim.levels.tracks import Segments, Track, Tracks
from sim.names import ErrorName, Operation
from sim.pages import Walk


class Asked:
    """One request: what its branches have met so far.

    Attributes
    ----------
    open : branches that still walk.
    first_s : first attempt of all; ``last_s``: last answer so far.
    error : why a page was given up, None as long as none was. The other branches walk on: they are workers by themselves.
    """

    __slots__ = (
        "empty_pages",
        "error",
        "filtered_units",
        "first_s",
        "last_s",
        "open",
        "pages",
        "returned",
        "scanned",
        "units",
    )

    def __init__(self, branches: int) -> None:
        self.open = branches
        self.first_s = np.inf
        self.last_s = 0.0
        self.error: ErrorName | None = None
        self.pages = 0
        self.scanned = 0
        self.returned = 0
        self.empty_pages = 0
        self.units = 0.0
        self.filtered_units = 0.0


class Branch:
    """One walk: where it goes, and how far it is.

    Attributes
    ----------
    number : which segment of a Scan, or which value of a scattered Query.
    chance : says which track it takes, the same at every layout of the partitions.
    examining : items on the page that is being asked for.
    """

    __slots__ = ("asked", "chance", "done", "examining", "number", "pages", "returned", "walk")

    def __init__(self, asked: Asked, walk: Walk, number: int, chance: float) -> None:
        self.asked = asked
        self.walk = walk
        self.number = number
        self.chance = chance
        self.done = 0
        self.returned = 0
        self.pages = 0
        self.examining = 0


class Walks:
    """The walks of one pattern."""

    def __init__(self, patterns: Patterns, pattern: Pattern, draws: np.random.Generator) -> None:
        assert pattern.demand.walking is not None, "a pattern that walks"
        self._patterns = patterns
        self._pattern = pattern
        self._walking: Walking = pattern.demand.walking
        self._draws = draws
        self._scans = pattern.demand.traffic.operation is Operation.SCAN
        self._mark: object = None
        self._segments: Segments | None = None
        self._known: dict[int, Track] = {}  # of segments
        self._tracks: Tracks | None = None
        self._reached: list[list[float]] = []

    def set_out(self) -> list[Branch]:
        """The branches of one more request."""
        missing = self._walking.missing
        asked = Asked(self._walking.branches)
        branches = []
        for number in range(self._walking.branches):
            walk = self._walking.empty if missing and self._draws.random() < missing else self._walking.walk
            branches.append(Branch(asked, walk, number, 0.0 if self._scans else self._draws.random()))
        return branches

    def next_page(self, branch: Branch) -> tuple[int, int]:
        """The leg and the partition's number of the page that a branch asks for now."""
        walk = branch.walk
        branch.examining = walk.examines(branch.done, branch.returned)
        place = self._draws.random()
        if walk.items:
            place = (branch.done + place * branch.examining) / walk.items
        column = self._track_of(branch).column_at(place)
        leg = self._walking.leg_of[walk.units(branch.examining)]
        return leg, self._pattern.flows[0].resource.partitions.serving[column]

    def answered(self, branch: Branch) -> bool:
        """Take in a page that was served; says whether the walk goes on."""
        walk, asked, examined = branch.walk, branch.asked, branch.examining
        passing = walk.filter_pass
        hits = examined if passing == 1 else int(self._draws.binomial(examined, passing)) if examined else 0
        before = branch.returned
        branch.pages += 1
        branch.done += examined
        branch.returned += hits
        units = walk.units(examined)
        asked.pages += 1
        asked.scanned += examined
        asked.returned += hits
        asked.empty_pages += hits == 0
        asked.units += units
        asked.filtered_units += units * (1 - hits / examined) if examined else 0.0
        return walk.goes_on(branch.pages, branch.done, branch.returned, examined, before)

    def _track_of(self, branch: Branch) -> Track:
        flow = self._pattern.flows[0]
        flow.place()
        mark = (flow.layout, flow.resource.version)
        if self._mark != mark:
            self._mark = mark
            if self._scans:
                self._segments, self._known = Segments(flow.shares, self._walking.branches), {}
            else:
                self._tracks = self._patterns.tracks(self._pattern)
                self._reached = np.cumsum(self._tracks.takes, axis=1).tolist()
        if self._scans:
            assert self._segments is not None, "segments of this layout"
            if branch.number not in self._known:
                self._known[branch.number] = self._segments.track(branch.number)
            return self._known[branch.number]
        assert self._tracks is not None, "tracks of this layout"
        return self._tracks.all[
            min(bisect_right(self._reached[branch.number], branch.chance), len(self._tracks.all) - 1)
        ]
