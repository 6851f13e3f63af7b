"""Key stores: one suite over the file, the sealed file, the keyring and the twin in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError
from nacl import pwhash

from adapters.keys.file import FileKeyStore, MemoryKeyStore
from adapters.keys.os_keyring import KeyringKeyStore
from adapters.keys.passphrase import Cost, PassphraseKeyStore
from adapters.ports.keys import KeyStore
from node.base.files import write_private
from protocol.errors import MeshError

CURRENT, NEXT = b"\x01" * 32, b"\x02" * 32
CHEAP = Cost(operations=pwhash.argon2id.OPSLIMIT_MIN, memory_bytes=pwhash.argon2id.MEMLIMIT_MIN)
PASSPHRASE = b"correct horse battery"


class Keyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        raise PasswordDeleteError


class LockedKeyring(Keyring):
    """A keyring that refuses, with the secret in its complaint."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError(CURRENT.hex())

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(password)


Open = Callable[[], KeyStore]


@pytest.fixture(params=["file", "passphrase", "keyring", "memory"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same store again, as another process would."""
    path, keyring, memory = tmp_path / "witness.key", Keyring(), MemoryKeyStore()
    made: dict[str, Open] = {
        "file": lambda: FileKeyStore(path, write_private),
        "passphrase": lambda: sealed(path),
        "keyring": lambda: KeyringKeyStore(path, write_private, "0" * 32, keyring),
        "memory": lambda: memory,
    }
    return made[request.param]


def sealed(path: Path, passphrase: bytes = PASSPHRASE) -> PassphraseKeyStore:
    return PassphraseKeyStore(path, write_private, lambda: passphrase, CHEAP)


def code(act: Callable[[], object]) -> str:
    with pytest.raises(MeshError) as error:
        act()
    shown = f"{error.value!r} {error.value.to_dict()} {error.value.__cause__!r}"
    assert CURRENT.hex() not in shown and PASSPHRASE.decode() not in shown
    return error.value.code


# --- every store -----------------------------------------------------------------------------------------------------


def test_what_was_kept_is_there_again(reopen: Open) -> None:
    reopen().save([CURRENT])
    assert reopen().load() == (CURRENT,)


def test_two_seeds_are_kept_while_a_key_changes_and_one_afterwards(reopen: Open) -> None:
    reopen().save([CURRENT])
    store = reopen()
    assert store.load() == (CURRENT,)
    store.save([CURRENT, NEXT])
    assert reopen().load() == (CURRENT, NEXT)
    store.save([NEXT])
    assert reopen().load() == (NEXT,)


def test_an_empty_store_holds_no_node(reopen: Open) -> None:
    assert code(lambda: reopen().load()) == "node.not_initialised"


def test_a_store_says_its_form_and_shows_no_seed(reopen: Open) -> None:
    store = reopen()
    store.save([CURRENT])
    assert store.form in ("file", "passphrase", "keyring", "memory")
    assert CURRENT.hex() not in repr(store) and str(CURRENT) not in repr(store)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda path: FileKeyStore(path, write_private), sealed], ids=["file", "passphrase"])
def test_only_the_owner_reads_the_file(make: Callable[[Path], KeyStore], tmp_path: Path) -> None:
    """Guard: the file is written by ``write_private``."""
    make(tmp_path / "witness.key").save([CURRENT])
    assert (tmp_path / "witness.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text", ["", "title\n", "title\nzz\n", "title\n" + "00" * 31 + "\n", "title\n" + "00" * 96, "\xff"]
)
def test_a_damaged_file_is_corrupt_and_not_quoted(text: str, tmp_path: Path) -> None:
    path = tmp_path / "witness.key"
    path.write_bytes(text.encode("latin-1"))
    assert code(lambda: FileKeyStore(path, write_private).load()) == "store.corrupt"
    assert code(lambda: sealed(path).load()) == "store.corrupt"


# --- passphrase ------------------------------------------------------------------------------------------------------


def test_the_sealed_file_does_not_hold_the_seed(tmp_path: Path) -> None:
    """Guard: ``Aead.encrypt`` in ``save``.

    Guard: adapters/keys/passphrase.py, PassphraseKeyStore.save.
    """
    path = tmp_path / "witness.key"
    sealed(path).save([CURRENT])
    assert CURRENT.hex() not in path.read_text()
    assert CURRENT not in path.read_bytes()


def test_a_wrong_passphrase_and_a_changed_file_look_alike(tmp_path: Path) -> None:
    """Guard: one error for every failure of ``Aead.decrypt``."""
    path = tmp_path / "witness.key"
    sealed(path).save([CURRENT])
    whole = path.read_text()
    said = []
    for text, passphrase in (
        (whole, b"wrong horse battery"),
        (whole.replace(whole.splitlines()[2][40:44], "AAAA"), PASSPHRASE),
    ):
        path.write_text(text)
        with pytest.raises(MeshError) as error:
            sealed(path, passphrase).load()
        said.append(str(error.value.to_dict()))
        assert error.value.code == "key.passphrase"
    assert said[0] == said[1]


def test_the_terms_cannot_be_swapped(tmp_path: Path) -> None:
    """Guard: terms are additional data; a cheaper price per guess cannot be written over them."""
    path = tmp_path / "witness.key"
    sealed(path).save([CURRENT])
    path.write_text(path.read_text().replace("argon2id 1 ", "argon2id 2 "))
    assert code(lambda: sealed(path).load()) == "key.passphrase"


@pytest.mark.parametrize(
    "terms", ["argon2id 99 8192", "argon2id 1 99999999999", "argon2id 0 8192", "argon2id -1 8192", "argon2id x 8192"]
)
def test_terms_that_would_take_all_memory_or_time_are_refused_before_work(terms: str, tmp_path: Path) -> None:
    """Guard: bounds in ``load``.

    Guard: adapters/keys/passphrase.py, PassphraseKeyStore.load.
    """
    path = tmp_path / "witness.key"
    path.write_text(f"title\n{terms} {'00' * 16}\n{'A' * 80}\n")
    asked: list[int] = []
    store = PassphraseKeyStore(path, write_private, lambda: asked.append(1) or PASSPHRASE, CHEAP)  # type: ignore[func-returns-value]
    assert code(store.load) == "store.corrupt"
    assert not asked


def test_the_passphrase_is_asked_for_once(tmp_path: Path) -> None:
    """Guard: the derived key stays with the store."""
    path, asked = tmp_path / "witness.key", []

    def ask() -> bytes:
        asked.append(1)
        return PASSPHRASE

    sealed(path).save([CURRENT])
    store = PassphraseKeyStore(path, write_private, ask, CHEAP)
    store.load()
    store.save([CURRENT, NEXT])
    store.save([NEXT])
    assert asked == [1]


def test_every_sealing_takes_another_nonce(tmp_path: Path) -> None:
    path = tmp_path / "witness.key"
    store = sealed(path)
    store.save([CURRENT])
    before = path.read_text()
    store.save([CURRENT])
    assert path.read_text() != before


# --- keyring ---------------------------------------------------------------------------------------------------------


def test_the_key_file_of_a_keyring_only_names_the_entry(tmp_path: Path) -> None:
    path, keyring = tmp_path / "witness.key", Keyring()
    KeyringKeyStore(path, write_private, "a" * 32, keyring).save([CURRENT])
    assert CURRENT.hex() not in path.read_text()
    assert keyring.entries == {("trailmesh", "a" * 32): CURRENT.hex()}


@pytest.mark.parametrize("backend", [LockedKeyring(), None], ids=["locked", "none on this machine"])
def test_a_keyring_that_cannot_be_used_says_so_and_leaves_no_file(
    backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards: ``_guarded``, the priority in ``_use``, and keyring before file in ``save``."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    path = tmp_path / "witness.key"
    assert code(lambda: KeyringKeyStore(path, write_private, "a" * 32, backend).save([CURRENT])) == "key.keyring"
    assert not path.exists()


def test_an_entry_that_is_gone_says_so(tmp_path: Path) -> None:
    path = tmp_path / "witness.key"
    KeyringKeyStore(path, write_private, "a" * 32, Keyring()).save([CURRENT])
    assert code(lambda: KeyringKeyStore(path, write_private, "", Keyring()).load()) == "key.keyring"
