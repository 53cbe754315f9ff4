"""A social network, and the post that everybody sees."""

from __future__ import annotations

from models.designs.base import one_of_many
from models.parameters import a_count, a_number
from models.words import amount, one_has
from models.workloads.base import ROOM, Need, Workload


def viral_post(
    *, likes_per_s: float = 3000.0, views_per_s: float = 6000.0, viral_share: float = 0.5, posts: int = 1000
) -> Workload:
    """Likes and views that grow ninefold within ten minutes, a good part of them for one post.

    Parameters
    ----------
    likes_per_s : at the height, all posts together; from 1 to 10,000.
    views_per_s : at the height, all posts together; from 1 to 20,000.
    viral_share : share of likes and views that the one post has; from 0.01 to 0.99.
    posts : all posts, the viral one included; from 2 to 100,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    likes = a_number("likes_per_s", likes_per_s, 1, 10_000)
    views = a_number("views_per_s", views_per_s, 1, 20_000)
    share = a_number("viral_share", viral_share, 0.01, 0.99)
    count = a_count("posts", posts, 2, 100_000)

    def grows(to: float) -> dict[str, object]:
        return {"kind": "ramp", "from": to / 9, "to": to, "over": "10m"}

    return Workload(
        name="viral-post",
        says=f"A post goes viral: likes and views grow ninefold in ten minutes, to {amount(likes)} and {amount(views)} a second.",
        duration="20m",
        needs=(
            Need(name="likes", role="write", keys={"rate": grows(likes)}),
            Need(name="views", role="read", keys={"rate": grows(views)}),
            Need(name="lists", role="list", keys={"rate": grows(views / 100)}),
        ),
        fields={"post": one_of_many("viral", share, count)},
        fields_say={"post": one_has("posts", share, count)},
        capacity={"mode": "on-demand", "previous_peak_write": ROOM * likes, "previous_peak_read": ROOM * views},
    )
