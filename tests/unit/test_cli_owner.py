"""The commands that sign with an owner's key, as a person types them: on a terminal, with a passphrase, and in no other way."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import select
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nacl.signing import SigningKey

from node.cli.main import main
from node.process import owner_files
from node.process.setup import init_home
from node.process.wiring import open_node
from protocol.approval.forms import action_exact, action_form
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Locator

PASSPHRASE = "correct horse battery"
_WAIT_S = 60
_TERMINAL = {**os.environ, "COLUMNS": "200"}


def typed(home: Path, *words: str, answers: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code and the output of ``trailmesh`` on a terminal, where ``answers`` are typed at prompts that end in a colon."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(Path(__file__).parents[2])
        os.execve(sys.executable, [sys.executable, "-m", "node.cli", *words, "--home", str(home)], _TERMINAL)
    left, shown, answered = list(answers), b"", 0
    end = time.monotonic() + _WAIT_S
    while time.monotonic() < end and select.select([terminal], [], [], _WAIT_S)[0]:
        try:
            data = os.read(terminal, 4_096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
        if left and shown[answered:].rstrip(b" ").endswith(b":"):
            answered = len(shown)
            os.write(terminal, left.pop(0).encode() + b"\n")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def piped(home: Path, *words: str, text: str = "", **environment: str) -> Result:
    """The same without a terminal; ``text`` comes on standard input."""
    return CliRunner().invoke(main, [*words, "--home", str(home)], input=text, env=environment)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node whose owner Anna has a key."""
    made = tmp_path_factory.mktemp("node")
    init_home(made / "home", name="n", listen="127.0.0.1:0", config_file=None, recovery_out=str(made / "r.txt"))
    code, shown = typed(made / "home", "owner", "add", "anna", answers=(PASSPHRASE, PASSPHRASE))
    assert code == 0, shown
    return made / "home"


def asked(home: Path, name: str) -> str:
    """The id of a new question."""
    return asyncio.run(_asked(home, name))


async def _asked(home: Path, name: str) -> str:
    from node.live.acting import Sought
    from node.verbs import OWNER

    action = Click(target=Locator(role="button", name=name))
    page = "https://shop.example/products/7"
    form = action_form(action, None, page)
    sought = Sought(exact=action_exact(action, None, page), form=form, page=page, level=4, evidence=("not understood",))
    async with open_node(home) as node:
        return await node.rooms.approvals.asker(OWNER).ask(sought)


def test_a_passphrase_is_taken_from_a_terminal_only(home: Path) -> None:
    """Guard: node/process/passphrase.py, _typed."""
    file = home.parent / "passphrase.txt"
    file.write_text(PASSPHRASE)
    for words in (("owner", "add", "ben"), ("owner", "revoke", "anna")):
        done = piped(home, *words, text=f"{PASSPHRASE}\n" * 3, TRAILMESH_PASSPHRASE_FILE=str(file))
        assert done.exit_code == 2
        assert "owner.locked" in done.stderr
    assert "No such option" in piped(home, "owner", "add", "ben", "--passphrase-file", str(file)).stderr
    listed = json.loads(piped(home, "owner", "ls", "--json").stdout)
    assert [(each["name"], each["state"]) for each in listed["owners"]] == [("anna", "active")]


def test_the_key_lies_sealed_in_a_file_that_only_its_owner_reads(home: Path) -> None:
    (key,) = (home / owner_files.DIRECTORY).iterdir()
    assert key.stat().st_mode & 0o077 == 0
    assert key.parent.stat().st_mode & 0o077 == 0
    assert key.read_text().splitlines()[1].startswith("argon2id 3 268435456 ")


def test_a_question_is_answered_with_the_passphrase_and_not_with_another(home: Path) -> None:
    id = asked(home, "Frobnicate")
    code, shown = typed(home, "approve", "yes", id, "--scope", "site", answers=("not the passphrase",))
    assert (code, "owner.passphrase" in shown) == (2, True)
    code, shown = typed(home, "approve", "yes", id, "--scope", "site", answers=(PASSPHRASE,))
    assert code == 0, shown
    assert "click button “Frobnicate” on https://shop.example/products/{n}" in shown
    assert "no address judged worse than class 4" in shown
    told = json.loads(piped(home, "approve", "show", id, "--json").stdout)
    assert (told["state"], told["answer"]["owner"], told["answer"]["scope"]) == ("yes", "anna", "site")
    again = piped(home, "approve", "no", id)
    assert again.exit_code == 2
    assert PASSPHRASE not in shown


def test_a_key_that_is_kept_elsewhere_signs_a_statement(home: Path, tmp_path: Path) -> None:
    phone = SigningKey(b"phone".ljust(32))
    public = bytes(phone.verify_key).hex()
    code, shown = typed(home, "owner", "add", "phone", "--public-key", public, "--by", "anna", answers=(PASSPHRASE,))
    assert code == 0, shown
    id = asked(home, "Quux")
    statement, signature = tmp_path / "answer.bin", tmp_path / "answer.sig"
    done = piped(home, "approve", "show", id, "--owner", "phone", "--scope", "site", "--statement", str(statement))
    assert done.exit_code == 0, done.stderr
    files = ("--statement", str(statement), "--signature", str(signature))
    signature.write_bytes(phone.sign(statement.read_bytes()).signature)
    assert "input.invalid" in piped(home, "approve", "no", id, *files).stderr, "the statement says yes"
    signature.write_bytes(bytes(64))
    assert "envelope.signature" in piped(home, "approve", "yes", id, *files).stderr
    signature.write_bytes(phone.sign(statement.read_bytes()).signature)
    done = piped(home, "approve", "yes", id, *files, "--json")
    assert json.loads(done.stdout)["answer"]["owner"] == "phone"


@pytest.mark.field
def test_a_short_passphrase_and_two_that_differ_make_no_key(home: Path) -> None:
    before = sorted((home / owner_files.DIRECTORY).iterdir())
    for answers in ((PASSPHRASE, "short", "short"), (PASSPHRASE, PASSPHRASE, f"{PASSPHRASE}!")):
        code, shown = typed(home, "owner", "add", "carl", "--by", "anna", answers=answers)
        assert (code, "input.invalid" in shown) == (2, True)
    assert sorted((home / owner_files.DIRECTORY).iterdir()) == before


@pytest.mark.field
def test_the_recovery_key_lets_a_new_owner_in_and_the_lost_one_out(home: Path) -> None:
    file = str(home.parent / "r.txt")
    code, shown = typed(home, "owner", "add", "anna2", "--key-file", file, answers=(PASSPHRASE, PASSPHRASE))
    assert code == 0, shown
    done = piped(home, "owner", "revoke", "anna", "--key-file", file, "--json")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (told["name"], told["state"]) == ("anna", "revoked")
    names = {each["name"]: each["state"] for each in json.loads(piped(home, "owner", "ls", "--json").stdout)["owners"]}
    assert (names["anna"], names["anna2"]) == ("revoked", "active")


def test_a_file_that_holds_another_key_than_its_name_says_is_not_signed_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_files, "new_owner_passphrase", lambda name: PASSPHRASE.encode())
    monkeypatch.setattr(owner_files, "owner_passphrase", lambda name: PASSPHRASE.encode())
    key, path = owner_files.make_key(tmp_path, "anna")
    id = path.name.removesuffix(".key")
    assert bytes(owner_files.open_key(tmp_path, id, "anna")) == bytes(key)
    other = owner_files.file_of(tmp_path, "own-AAAAAAAAAAAAAAAAAAAAA")
    path.rename(other)
    with pytest.raises(MeshError) as caught:
        owner_files.open_key(tmp_path, "own-AAAAAAAAAAAAAAAAAAAAA", "anna")
    assert caught.value.code == "store.corrupt"
    with pytest.raises(MeshError) as caught:
        owner_files.open_key(tmp_path, id, "anna")
    assert caught.value.code == "owner.unknown"


def test_a_person_consents_to_a_capsule_on_the_terminal_once_its_policy_is_shown(home: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text('[{"name": "sid", "value": "s3cr3t-c00kie", "domain": "shop.example"}]')
    (tmp_path / "word").write_text("anna:tell-nobody")
    basic = ("--secret", f"word:basic@https://shop.example=@{tmp_path / 'word'}")
    given = ("--from", str(state), "--name", "shop", "--consent", "--replays", "7", "--unproven", *basic)
    captured = piped(home, "capsule", "capture", *given)
    assert captured.exit_code == 0 and "needs the consent of an owner" in captured.output
    assert piped(home, "capsule", "consent", "shop").exit_code != 0, "there is no terminal"
    code, shown = typed(home, "capsule", "consent", "shop", answers=("not the passphrase",))
    assert code != 0 and "owner.passphrase" in shown
    code, shown = typed(home, "capsule", "consent", "shop", answers=(PASSPHRASE,))
    assert code == 0 and "or after 7 uses" in shown.partition("assphrase")[0]
    said = "a user name and a password for HTTP basic authentication of https://shop.example"
    assert said in shown.partition("assphrase")[0] and "tell-nobody" not in shown + captured.output
    assert re.search(r"consented by +own-", shown) and "s3cr3t-c00kie" not in shown + captured.output
