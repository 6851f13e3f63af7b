"""The wheel, installed beside packages that have the same import names."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mesh_nodes import until

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.field
"""Building it and making an environment take ten seconds."""


def ran(*command: str | Path, cwd: Path | None = None) -> str:
    """Standard output of a command that must succeed. No setting of this process leads it to the source tree."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TRAILMESH_HOME")}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=cwd or "/", env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sources() -> list[str]:
    """The files of the source tree."""
    tracked = ran("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    return [name for name in tracked if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree in which `make wheel` has run, so that nothing is written into this one."""
    copy = tmp_path_factory.mktemp("wheel") / "source"
    for name in sources():
        if not name.startswith(("tests/", "docs/", "benchmarks/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    ran("make", "wheel", cwd=copy)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel of that tree."""
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The bin directory of an environment with the wheel and with packages `node`, `protocol` and `adapters` of others."""
    environment = tmp_path_factory.mktemp("environment")
    ran(sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    packages = Path(ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for name in ("node", "protocol", "adapters"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("OWNER = 'somebody else'\n")
    # The dependencies of this environment. A path in a .pth file does not make that directory's .pth files act.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    ran(python, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-index", wheel)
    yield environment / "bin"
    for name in ("node", "protocol", "adapters"):
        owner = ran(python, "-c", f"import {name}; print({name}.OWNER)").strip()
        assert owner == "somebody else", f"{name} of another package was changed"


def page_of(link: str) -> dict[str, str]:
    """The types of the answers of the page at ``link``, which is used up, by their addresses."""
    entrance, _, token = link.partition("#")
    site, base = entrance.partition("/ui/")[0], f"{entrance.partition('/ui/')[0]}/ui/"
    entering = urllib.request.Request(entrance, data=token.encode(), headers={"Origin": site})
    found = {}
    with urllib.request.urlopen(entering, timeout=60) as answer:
        cookie, root = answer.headers["Set-Cookie"].partition(";")[0], f"{site}{json.load(answer)['root']}"
    for address in (entrance, root, f"{root}doctor", f"{base}page.css", f"{base}page.js", f"{base}icon.svg"):
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Cookie": cookie}), timeout=60) as answer:
            found[address] = answer.headers.get_content_type()
    return found


def test_the_wheel_adds_one_package_to_site_packages(wheel: Path, installed: Path) -> None:
    names = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"trailmesh"}
    files = ran(installed / "python", "-m", "pip", "show", "-f", "trailmesh").partition("Files:")[2].split()
    assert "trailmesh/py.typed" in files
    assert {name.partition("/")[0] for name in files if "dist-info" not in name} <= {"trailmesh", ".."}
    assert [name for name in files if name.startswith("..")] == ["../../../bin/trailmesh"]
    reading = "import importlib.metadata as m; print(m.distribution('trailmesh').read_text('top_level.txt'))"
    top = ran(installed / "python", "-c", reading)
    assert top.split() == ["trailmesh"]


def test_building_the_wheel_installs_the_build_backend_alone(source: Path) -> None:
    assert not (source / ".venv").exists()
    listed = json.loads(ran(source / ".venv-build" / "bin" / "python", "-m", "pip", "list", "--format", "json"))
    assert {each["name"] for each in listed} <= {"pip", "setuptools"}


def test_the_wheel_has_each_file_of_the_packages(wheel: Path) -> None:
    packed = {name.removeprefix("trailmesh/_source/") for name in zipfile.ZipFile(wheel).namelist()}
    packages = ("trailmesh/", "node/", "protocol/", "adapters/", "configs/")
    assert [name for name in sources() if name.startswith(packages) and name not in packed] == []


def test_the_installed_command_runs_its_own_packages_and_not_those_of_others(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text("raise RuntimeError('the working directory must not win')\n")
    version = ran(installed / "trailmesh", "--version", cwd=tmp_path)
    assert version.startswith("trailmesh, version ")
    assert ran(installed / "python", "-m", "trailmesh", "--version", cwd=tmp_path) == version
    home = tmp_path / "home"
    made = json.loads(
        ran(installed / "trailmesh", "node", "init", "--home", home, "--config", "ci", "--json", cwd=tmp_path)
    )
    assert "sandbox: false" in (home / "config.yaml").read_text()
    serving = subprocess.Popen([installed / "trailmesh", "node", "serve", "--home", home], cwd=tmp_path)
    try:
        until((home / "control.json").exists, "the node serves")
        status = json.loads(ran(installed / "trailmesh", "node", "status", "--home", home, "--json", cwd=tmp_path))
        assert (status["node"], status["serving"]) == (made["node"], True)
        link = json.loads(ran(installed / "trailmesh", "ui", "--as-owner", "--no-open", "--home", home, "--json"))[
            "link"
        ]
        types = [*page_of(link).values()]
        assert types == [*["text/html"] * 3, "text/css", "text/javascript", "image/svg+xml"]
        program = f"with trailmesh.sync.connect({str(home)!r}) as node: print(node.verbs.node.whoami().caller)"
        assert ran(installed / "python", "-c", f"import trailmesh\n{program}", cwd=tmp_path).strip() == "agent:python"
    finally:
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(timeout=120) == 0


def test_every_shell_that_the_readme_names_gets_its_completion(installed: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert f"_TRAILMESH_COMPLETE={shell}_source trailmesh" in (ROOT / "README.md").read_text()
        script = ran("env", f"_TRAILMESH_COMPLETE={shell}_source", installed / "trailmesh")
        assert f"_TRAILMESH_COMPLETE={shell}_complete" in script
    offered = ran(
        "env",
        "_TRAILMESH_COMPLETE=bash_complete",
        "COMP_WORDS=trailmesh node ba",
        "COMP_CWORD=2",
        installed / "trailmesh",
    )
    assert offered.split() == ["plain,backup"]


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "configs").glob("*.yaml")))
def test_each_example_configuration_is_found_by_its_name(installed: Path, tmp_path: Path, name: str) -> None:
    ran(installed / "trailmesh", "node", "init", "--home", tmp_path / "home", "--config", name, "--json")


def test_the_demo_runs_from_the_wheel_and_finds_what_the_release_changed(installed: Path, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    result = json.loads(ran(installed / "trailmesh", "demo", "--json", "--out", out))
    assert len(result["promises"]) == 4
    assert all(result["promises"].values())
    page = (out / "difference.html").read_text(encoding="utf-8")
    assert "Sold out" in page
    assert "£14.50" in page
