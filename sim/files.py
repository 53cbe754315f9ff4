"""Writing a file whole or not at all, so that a full disk never leaves half a file in the place of a good one."""

from __future__ import annotations

import contextlib
import os
from os import PathLike


def write_whole(path: str | PathLike[str], data: bytes) -> None:
    """Write a file by way of a temporary one beside it, which takes its place once it is complete.

    A link is followed; what is no ordinary file, such as a pipe or a device, is written directly.

    Raises
    ------
    OSError
        It cannot be written; what stood there before still does.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            file.write(data)
        return
    temporary = os.path.join(os.path.dirname(target), f".ddbsim-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
