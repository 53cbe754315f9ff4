"""Resending what a batch gave back unprocessed."""

from __future__ import annotations

from sim.scenario.client import Client


class Resend:
    """Back-off of the resends of one batch; holds no state, so one serves every client.

    Attributes
    ----------
    max_retries : resends at most (0 and more).
    jitter : largest fraction added to a delay at random, 0..1.
    """

    __slots__ = ("_delays_s", "jitter", "max_retries")

    def __init__(self, max_retries: int, base_delay_s: float, max_delay_s: float, jitter: float) -> None:
        self.max_retries = max_retries
        self.jitter = jitter
        self._delays_s = tuple(min(base_delay_s * 2.0**n, max_delay_s) for n in range(max_retries))

    def delay_s(self, resend: int, u: float) -> float | None:
        """Seconds from an answer with unprocessed items to resend number ``resend`` (from 0); None: they are given up.

        Jitter comes on top of the cap: a delay is at most max_delay × (1 + jitter). ``u`` is a uniform draw from [0, 1).
        """
        if resend >= self.max_retries:
            return None
        return self._delays_s[resend] * (1.0 + self.jitter * u)

    def delay_law(self, resend: int) -> tuple[float, float] | None:
        """Ends, in seconds, of the uniform law of ``delay_s(resend, u)``; None: no resend."""
        if resend >= self.max_retries:
            return None
        return self._delays_s[resend], self._delays_s[resend] * (1.0 + self.jitter)


def make_resend(client: Client) -> Resend | None:
    """The back-off of a client's settings; None where unprocessed items are not resent."""
    settings = client.retry_unprocessed
    if settings is None:
        return None
    return Resend(settings.max_retries, settings.base_delay, settings.max_delay, settings.jitter)
