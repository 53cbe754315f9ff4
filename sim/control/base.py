"""What all controllers share: they wake beside the traffic, look at what was seen, and act by a few verbs.

The traffic knows nothing of them.
"""

from __future__ import annotations

from typing import Protocol

OBSERVE_S = 60.0  # the service's metrics are kept by the minute; controllers look once a minute


class Controller(Protocol):
    """Something that looks at a resource once a minute and may act on it."""

    def look(self, now_s: float) -> None:
        """Look at what was seen up to ``now_s`` and act."""
