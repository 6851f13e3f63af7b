"""Maps error numbers of the file system to error codes of a data directory."""

from __future__ import annotations

import errno
from typing import Final

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_OURS: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR})


def store_code(number: int | None) -> str:
    """The error code for ``OSError.errno``: ``store.full``, ``store.unwritable``, else ``store.corrupt``.

    Only the last one calls for a backup: a disk that was mounted read-only or belongs to somebody else holds all it held.
    """
    if number in _NO_SPACE:
        return "store.full"
    return "store.unwritable" if number in _NOT_OURS else "store.corrupt"
