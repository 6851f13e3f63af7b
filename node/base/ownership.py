"""Checks that no other account can change a data directory, or put another one in its place.

Its configuration names programs that this process starts, its key signs, and its socket is told the owner's token. So all of it
must belong to the account that runs, or to root, and the way to it must be in no other hands: whoever may write to a folder above
can rename the one below. Decided so:

- A folder with the sticky bit (``/tmp``) may be written to by everybody: nobody renames what belongs to others there.
- Group write is accepted for the account's own private group (it has its name, and nobody else in it), for root's group, and for a
  group that the system has no name for, as in containers that run under a number: nobody else is known to be in these.
- Links are followed: where one lies counts, and the way to where it leads.
- In a user namespace what belongs to nobody that is mapped belongs to no account in there.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import shlex
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from protocol.errors import MeshError

_LINKS_MAX: Final = 40


def check_private(home: Path, *, fresh: bool = False, me: int | None = None) -> None:
    """Check that no other account can change ``home``, its content, or the way to it. Missing files are not checked.

    fresh: it is about to become a data directory, and gets its mode then. me: the account that runs, if not this process's.
    Errors: ``node.exposed``, with a command to paste in ``command``.
    """
    account, real = os.geteuid() if me is None else me, home.resolve()
    for path, found in _way(home):
        if path != real:
            _check_above(path, found, account, home)
            continue
        _check_own(path, found, account)
        if not fresh:
            _check_mode(path, found, account)
    with contextlib.suppress(OSError), os.scandir(real) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            _check_entry(Path(entry.path), entry.stat(follow_symlinks=False), account)


def check_file(path: Path, *, me: int | None = None) -> None:
    """Check that no other account can change the file ``path`` or the way to it. Errors: ``node.exposed``."""
    account = os.geteuid() if me is None else me
    for place, found in _way(path):
        _check_above(place, found, account, path)


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything on the way to ``path``, links too, from the root; it ends where nothing is there."""
    here, left, links = Path("/"), deque(path.absolute().parts[1:]), 0
    yield here, here.lstat()
    while left:
        name = left.popleft()
        if name == "..":
            here = here.parent
            continue
        there = here / name
        try:
            found = there.lstat()
        except OSError:
            return
        yield there, found
        if not stat.S_ISLNK(found.st_mode):
            here = there
            continue
        links += 1
        target = Path(os.readlink(there))
        if links > _LINKS_MAX:
            return
        if target.is_absolute():
            here = Path("/")
        left.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))


def _check_above(path: Path, found: os.stat_result, me: int, home: Path) -> None:
    if found.st_uid not in (0, me) and not _is_unmapped(found.st_uid):
        what = "" if path == home else f", on the way to {home},"
        raise _exposed(
            f"{path}{what} belongs to {_account(found.st_uid)}, and this command runs as {_account(me)}: who owns it can put"
            f" something else in its place. {_instead(found.st_uid, me)} or give it away",
            f"chown {_account(me)}: {shlex.quote(str(path))}",
            path,
        )
    if not stat.S_ISLNK(found.st_mode) and not (stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX):
        _check_mode(path, found, me)


def _check_own(path: Path, found: os.stat_result, me: int) -> None:
    if found.st_uid in (0, me):
        return
    raise _exposed(
        f"{path} belongs to {_account(found.st_uid)}, and this command runs as {_account(me)}: who owns it decides what runs from"
        f" it. {_instead(found.st_uid, me)} or give it away",
        f"chown -R {_account(me)}: {shlex.quote(str(path))}",
        path,
    )


def _check_mode(path: Path, found: os.stat_result, me: int) -> None:
    others = bool(found.st_mode & stat.S_IWOTH)
    group = bool(found.st_mode & stat.S_IWGRP) and not _is_private_group(found.st_gid, me)
    if others or group:
        who = "every account" if others else f"the group {_group(found.st_gid)}"
        flags = "go-w" if others and found.st_mode & stat.S_IWGRP else "o-w" if others else "g-w"
        raise _exposed(f"{who} of this machine can write to {path}", f"chmod {flags} {shlex.quote(str(path))}", path)


def _check_entry(path: Path, found: os.stat_result, me: int) -> None:
    _check_own(path, found, me)
    if stat.S_ISLNK(found.st_mode):
        check_file(path, me=me)
    elif not stat.S_ISSOCK(found.st_mode):
        _check_mode(path, found, me)


def _exposed(told: str, command: str, path: Path) -> MeshError:
    return MeshError("node.exposed", f"{told}: {command}", path=str(path), command=command)


def _instead(owner: int, me: int) -> str:
    """The remedy for a command that runs as ``me`` but meets a folder of ``owner``."""
    if me != 0:
        return f"Run it as {_account(owner)}, name another data directory (--home),"
    return (
        f"Run it as that account (sudo -u {_account(owner)}; of a container: --user {owner}), name a data directory of root"
        " (--home; HOME=/root in a container whose HOME is somebody else's),"
    )


def _is_private_group(group: int, me: int) -> bool:
    """True if no other member of the group is known than ``me`` and root."""
    try:
        known = grp.getgrgid(group)
    except KeyError:
        return True
    others = set(known.gr_mem) - {_account(me), "root"}
    return not others and (group == 0 or known.gr_name == _account(me))


def _is_unmapped(user: int) -> bool:
    """True if ``user`` is the number that a user namespace shows for accounts outside of it."""
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        mapped = Path("/proc/self/uid_map").read_text().split()
    except (OSError, ValueError):
        return False
    return user == overflow and mapped != ["0", "0", str(2**32 - 1)]


def _account(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _group(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)
