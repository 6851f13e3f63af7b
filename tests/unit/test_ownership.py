"""A data directory that another account can change is opened by no command, and each refusal names what to run."""

from __future__ import annotations

import functools
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from node.base.ownership import check_file, check_private
from node.config import settings
from node.process.client import ask, control_info, examine
from node.process.restore import restore
from node.process.setup import init_home
from node.process.wiring import open_node
from protocol.errors import MeshError

ME = os.geteuid()
STRANGER = 54_321
"""A number that no account has."""


def refused(check: Callable[[], object]) -> MeshError:
    with pytest.raises(MeshError) as caught:
        check()
    assert caught.value.code == "node.exposed"
    assert caught.value.message.endswith(caught.value.detail["command"])
    return caught.value


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory below a folder below ``tmp_path``."""
    made = tmp_path / "above" / "home"
    made.mkdir(parents=True, mode=0o700)
    (made / "config.yaml").write_text("{}")
    (made / "owners").mkdir(mode=0o700)
    for path in (tmp_path / "above", made / "config.yaml"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return made


def test_a_private_directory_in_private_folders_is_fine(home: Path) -> None:
    check_private(home)
    check_private(home / "not there yet")
    check_file(home / "config.yaml")


def test_whoever_can_write_to_it_or_replace_it_is_named_with_what_to_run(home: Path) -> None:
    """Guard: node/base/ownership.py, _check_mode."""
    above = home.parent
    for path, mode, command in (
        (home, 0o707, f"chmod o-w {home}"),
        (home, 0o702, f"chmod o-w {home}"),
        (home / "config.yaml", 0o666, f"chmod go-w {home}/config.yaml"),
        (home / "owners", 0o703, f"chmod o-w {home}/owners"),
        (above, 0o757, f"chmod o-w {above}"),
        (above, 0o777, f"chmod go-w {above}"),
    ):
        before = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        assert refused(lambda: check_private(home)).detail["command"] == command
        path.chmod(before)
    check_private(home)


def test_everybody_may_write_to_a_folder_above_that_has_the_sticky_bit(home: Path) -> None:
    home.parent.chmod(0o1777)
    check_private(home)
    home.chmod(0o1777)
    refused(lambda: check_private(home))  # of the directory itself: anybody could add a file


def test_another_account_that_owns_it_or_the_way_to_it_is_named(home: Path) -> None:
    owner = ME or 1  # everybody trusts what belongs to root
    os.chown(home, owner, -1)
    for check in (check_private, check_file):
        error = refused(functools.partial(check, home, me=STRANGER))
        assert f"belongs to {pwd.getpwuid(owner).pw_name}, and this command runs as {STRANGER}" in error.message
        assert error.detail["command"].replace("-R ", "").startswith(f"chown {STRANGER}: ")


root = pytest.mark.skipif(ME != 0, reason="only root gives files away")


@root
def test_root_opens_nothing_that_another_account_could_have_written(home: Path) -> None:
    """Guard: node/base/ownership.py, _check_own."""
    for path, command in (
        (home, f"chown -R root: {home}"),
        (home / "config.yaml", f"chown -R root: {home}/config.yaml"),
        (home / "owners", f"chown -R root: {home}/owners"),
        (home.parent, f"chown root: {home.parent}"),
    ):
        os.chown(path, STRANGER, -1)
        error = refused(lambda: check_private(home))
        assert error.detail["command"] == command
        assert f"sudo -u {STRANGER}" in error.message and f"--user {STRANGER}" in error.message
        os.chown(path, 0, -1)
    check_private(home)
    # That account itself may.
    for path in (home, *home.iterdir(), home.parent):
        os.chown(path, STRANGER, -1)
    check_private(home, me=STRANGER)


@root
def test_a_link_counts_where_it_lies_and_where_it_leads(home: Path, tmp_path: Path) -> None:
    """Guard: node/base/ownership.py, _check_above."""
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o755)
    (foreign / "config.yaml").write_text("{}")
    (foreign / "link").symlink_to(home)
    for path in (foreign, foreign / "config.yaml"):
        os.chown(path, STRANGER, -1)
    assert str(foreign) in refused(lambda: check_private(foreign / "link")).detail["command"]
    (home / "config.yaml").unlink()
    (home / "config.yaml").symlink_to(foreign / "config.yaml")
    assert str(foreign) in refused(lambda: check_private(home)).detail["command"]
    (tmp_path / "good").symlink_to(home)
    (home / "config.yaml").unlink()
    check_private(tmp_path / "good")


@root
def test_write_by_a_group_is_accepted_where_nobody_else_is_known_to_be_in_it(home: Path) -> None:
    home.chmod(0o770)
    for group, fine in ((0, True), (STRANGER, True), (1, False)):
        os.chown(home, -1, group)
        if fine:
            check_private(home)
        else:
            assert refused(lambda: check_private(home)).detail["command"] == f"chmod g-w {home}"


async def test_no_command_opens_what_is_exposed_and_the_doctor_says_so(home: Path, tmp_path: Path) -> None:
    """Guard: node/process/client.py, control_info. Guard: node/config/settings.py, load."""
    os.chmod(home, 0o777)
    refused(lambda: settings.load(home))
    refused(lambda: control_info(home))
    with pytest.raises(MeshError) as asked:
        await ask(home, "node.status", {})
    with pytest.raises(MeshError) as opened:
        async with open_node(home):
            pass
    assert asked.value.code == opened.value.code == "node.exposed"
    told = await examine(home, lambda: b"", browser=True)
    assert [(check["name"], check["status"], check["remedy"]) for check in told["checks"]] == [
        ("data directory", "fault", f"chmod go-w {home}")
    ]
    assert sorted(os.listdir(home)) == ["config.yaml", "owners"], "nothing was begun there"


async def test_a_node_is_made_in_no_folder_that_another_account_could_replace(home: Path, tmp_path: Path) -> None:
    """Guard: node/process/setup.py, init_home."""
    home.parent.chmod(0o777)
    new, options = home.parent / "new", cast(Any, {"name": None, "listen": None})
    refused(lambda: init_home(new, config_file=None, **options))
    with pytest.raises(MeshError) as restored:
        await restore(new, tmp_path / "backup", lambda: b"")
    assert restored.value.code == "node.exposed"
    home.parent.chmod(0o755)
    (home / "config.yaml").chmod(0o666)
    refused(lambda: init_home(new, config_file=str(home / "config.yaml"), **options))
    assert not new.exists()
    # A directory of one's own that others could write to gets its mode.
    new.mkdir()
    new.chmod(0o777)
    init_home(new, config_file=None, recovery_out=str(tmp_path / "recovery"), **options)
    assert stat.S_IMODE(new.stat().st_mode) == 0o700
    check_private(new)
