"""The configurations in ``configs/`` are valid, explained, and named where people look for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from node.cli import main
from node.config.settings import Config, parse, render, starting
from node.process.setup import init_home
from protocol.errors import CODES, MeshError
from scripts.docs import ROOT, commands, help_text
from tests.tables import each

FILES = sorted((ROOT / "configs").glob("*.yaml"))


def names() -> list[str]:
    """File names, as test ids."""
    return [path.name for path in FILES]


def with_unknown_key(plain: Any, place: list[str]) -> str:
    """The configuration with one key nobody knows, at ``place``."""
    copy = yaml.safe_load(yaml.safe_dump(plain))
    target = copy
    for key in place:
        target = target[key]
    target["unheard_of"] = 1
    return yaml.safe_dump(copy)


@each("text", ["", "\n \n", "# only a comment\n", "---\n"])
def test_an_empty_configuration_is_refused_because_it_would_allow_what_the_lost_one_forbade(text: str) -> None:
    """Guard: node/config/settings.py, parse."""
    with pytest.raises(MeshError) as caught:
        parse(text)
    assert (caught.value.code, "empty" in caught.value.message) == ("config.invalid", True)
    assert parse("{}") == Config()


def test_the_promised_configurations_are_there() -> None:
    assert names() == ["ci.yaml", "hardened.yaml", "mesh.yaml", "on-the-fly.yaml", "solo.yaml"]


@pytest.mark.parametrize("path", FILES, ids=names())
def test_it_is_valid_and_survives_being_rendered(path: Path) -> None:
    config = parse(path.read_text(), source=path.name)
    assert parse(render(config)) == config


@pytest.mark.parametrize("path", FILES, ids=names())
def test_a_node_can_be_made_from_it(path: Path, tmp_path: Path) -> None:
    made = init_home(tmp_path / "home", name=None, listen=None, config_file=str(path))
    assert made["listen"].startswith("127.0.0.1:")


@pytest.mark.parametrize("path", FILES, ids=names())
def test_an_unknown_key_is_refused_wherever_it_stands(path: Path) -> None:
    plain = yaml.safe_load(path.read_text())
    for place in [[], *([key] for key, value in plain.items() if isinstance(value, dict))]:
        with pytest.raises(MeshError) as caught:
            parse(with_unknown_key(plain, place))
        assert caught.value.code == "config.invalid"


@pytest.mark.parametrize("path", FILES, ids=names())
def test_it_begins_with_what_it_is_for_and_explains_its_values(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert sum("#" in line for line in lines[1:]) >= 3


def test_the_sandbox_is_off_in_the_one_that_says_so_only() -> None:
    without = [path.name for path in FILES if not parse(path.read_text()).browser.sandbox]
    assert without == ["ci.yaml"]
    assert "root" in (ROOT / "configs/ci.yaml").read_text().splitlines()[0]


def test_hardened_is_stricter_than_the_defaults() -> None:
    hardened, default = parse((ROOT / "configs/hardened.yaml").read_text()), Config()
    assert hardened.policy.origins
    assert hardened.policy.risk_class_max < default.policy.risk_class_max
    assert not hardened.policy.allow_requests
    assert hardened.explore.workers <= default.explore.workers


def test_an_example_is_found_by_its_name_unless_a_file_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [starting(path.stem) for path in FILES] == FILES
    assert starting("../configs/ci") == Path("../configs/ci")
    assert starting("unknown") == Path("unknown")
    (tmp_path / "ci").write_text("name: mine\n")
    assert starting("ci") == Path("ci")


def test_none_allows_requests_or_listens_everywhere() -> None:
    for path in FILES:
        config = parse(path.read_text())
        assert not config.policy.allow_requests
        assert config.listen.host == "127.0.0.1"


def test_people_are_led_to_them() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"(configs/{name})" in readme for name in names())
    help_of_init = next(help_text(words, command) for words, command in commands() if words == ("node", "init"))
    assert "configs/" in help_of_init
    assert "`configs/`" in CODES["config.invalid"].remedy
    assert main.name == "main"


@pytest.mark.parametrize("field", [{"timezone": "Mars/Base"}, {"locale": "german"}], ids=str)
def test_a_profile_no_browser_could_have_is_refused_before_one_is_started(field: dict[str, str]) -> None:
    with pytest.raises(MeshError) as caught:
        parse(yaml.safe_dump({"browser": {"profile": field}}))
    assert caught.value.code == "config.invalid"
    assert next(iter(field)) in caught.value.message or "time zone" in caught.value.message


def test_a_file_that_is_no_text_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(b"name: \xff\xfe\n")
    for given in (file, tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(MeshError) as caught:
            init_home(tmp_path / "home", name=None, listen=None, config_file=str(given))
        assert caught.value.code == "config.invalid"
        assert str(given) in caught.value.message
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[::0]", "[::ffff:0.0.0.0]", "0", "0x0"])
def test_a_host_of_every_interface_needs_an_address_to_tell_already_when_the_node_is_made(
    tmp_path: Path, host: str
) -> None:
    with pytest.raises(MeshError, match=r"listen\.advertise") as caught:
        init_home(tmp_path / "home", name=None, listen=f"{host}:0", config_file=None)
    assert caught.value.code == "config.invalid"
    assert not (tmp_path / "home").exists()
    file = tmp_path / "told.yaml"
    file.write_text("listen: {advertise: ['https://192.168.1.20:7443']}\n")
    assert init_home(tmp_path / "home", name=None, listen="0.0.0.0:0", config_file=str(file))["name"]
