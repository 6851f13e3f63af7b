"""An installation takes only locked packages: the lists of packages and the lock files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(path.relative_to(ROOT) for path in ROOT.glob("requirements*.lock"))
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", each, maxsplit=1)[0] for each in requirements}


def pinned(lock: Path) -> dict[str, set[str]]:
    """Versions by name. A package has two if each Python takes another."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / lock).read_text(encoding="utf-8"), re.M):
        found.setdefault(name, set()).add(version)
    return found


@pytest.mark.parametrize("lock", LOCKS, ids=str)
def test_a_lock_file_has_only_versions_with_hashes_and_names_no_address(lock: Path) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", "")
    for line in text.splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==\S+ (; [^;#@]+ )?( +--hash=sha256:[0-9a-f]{64})+ *", line), line
    assert "://" not in text


def test_what_the_project_needs_is_locked_in_the_same_version_for_all() -> None:
    extras = DECLARED["project"]["optional-dependencies"]
    used, developing = pinned(Path("requirements.lock")), pinned(Path("requirements-dev.lock"))
    assert names(DECLARED["project"]["dependencies"]) <= set(used)
    assert names(extras["dev"]) <= set(developing)
    assert {name: developing.get(name) for name in used} == used


def test_the_wheel_is_built_with_nothing_but_the_locked_backend() -> None:
    building = pinned(Path("requirements-build.lock"))
    assert set(building) == names(DECLARED["build-system"]["requires"])
    assert building.items() <= pinned(Path("requirements-dev.lock")).items()


def test_tools_for_mcp_clients_need_no_extra() -> None:
    assert "mcp" in names(DECLARED["project"]["dependencies"])
    assert DECLARED["project"]["optional-dependencies"]["mcp"] == []
