"""A secret that was typed and the witness key are nowhere but where they belong."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.mesh_nodes import CONFIG, Node, cli, shop
from trailmesh.shop import ShopConfig

pytestmark = pytest.mark.browser


def _forms(value: bytes) -> list[bytes]:
    return [value, value.hex().encode(), value.decode(errors="ignore").encode("utf-16-le")]


def test_neither_a_typed_secret_nor_the_witness_key_is_in_any_file_log_bundle_or_output(tmp_path: Path) -> None:
    shop_config = ShopConfig()
    node = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG + "log_level: debug\n")
    secret_file = tmp_path / "secret.txt"
    secret_file.write_text(shop_config.password + "\n")
    actions = tmp_path / "actions.yaml"
    output = b""
    with shop(tmp_path) as (url, _):
        node.start()
        try:
            actions.write_text(
                f"title: Sign in\nstart: {url}/login\nsteps:\n"
                f"  - fill: {{role: textbox, name: E-mail address, nth: 0, value: {shop_config.user_email}}}\n"
                "  - fill: {role: textbox, name: Password, value: {secret: word}}\n"
                "  - click: {role: button, name: Sign in}\n"
            )
            arguments = ["session", "record", str(actions), "--secret", f"word=@{secret_file}"]
            approvals = ["--allow", f"POST {url}/login", "--approve-class", "7"]
            status, out, err = cli(*arguments, *approvals, "--json", home=node.home)
            output += (out + err).encode()
            assert status == 0, err
            session = json.loads(out)["id"]
            bundle = tmp_path / "signed-in.tmsession"
            for more in (
                ["session", "show", session, "--json"],
                ["session", "export", session, "--out", str(bundle)],
                ["session", "replay", session, "--secret", f"word=@{secret_file}", *approvals],
                ["node", "status", "--json"],
            ):
                status, out, err = cli(*more, home=node.home)
                output += (out + err).encode()
            wrong = cli(*arguments[:2], str(actions), "--secret", f"word={shop_config.password}", home=node.home)
            output += (wrong[1] + wrong[2]).encode()
        finally:
            node.stop()
    key = bytes.fromhex((node.home / "witness.key").read_text().splitlines()[-1])
    with zipfile.ZipFile(bundle) as archive:
        inside = b"".join(archive.read(name) for name in archive.namelist())
    files = [path for path in node.home.rglob("*") if path.is_file()]
    assert any(path.name == "node.log" for path in files)
    for canary in (shop_config.password.encode(), key):
        for form in _forms(canary):
            assert form not in output
            assert form not in inside + bundle.read_bytes()
            where = [path for path in files if form in path.read_bytes() and path.name != "witness.key"]
            assert where == []
    assert (node.home / "witness.key").stat().st_mode & 0o077 == 0
