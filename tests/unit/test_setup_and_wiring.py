"""How a node is made, and which adapters its configuration asks for."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.browser.launch.settings import BrowserSettings
from adapters.keys.file import FileKeyStore
from adapters.keys.os_keyring import KeyringKeyStore
from adapters.keys.passphrase import PassphraseKeyStore
from adapters.transport.server import MeshServer
from adapters.transport.signed_server import SignedServer
from node.config import Config
from node.config.settings import BrowserConfig, Listen
from node.config.settings import read as read_config
from node.distrust import Notices
from node.live.browsers import open_browsers
from node.live.sessions import LiveSessions
from node.log import LogExchange
from node.process import setup, wiring
from node.process.machine import browser_settings, system_clock
from node.process.setup import _host_name, _listen, free_port, init_home
from node.process.wiring import _is_everywhere, _is_loopback, advertised_host, new_key_store
from node.schedules import Schedules
from node.signing import Witness, identity
from node.trust import ClockMark, Peers, RefusalBook
from protocol.errors import MeshError
from protocol.keys import recovery
from tests.tables import each


def refused(call: Callable[..., Any], *given: Any, **more: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        call(*given, **more)
    return caught.value


# --- addresses -------------------------------------------------------------------------------------------------------


@each(
    ("given", "found"),
    [
        (None, ("10.0.0.1", 7)),
        ("", ("10.0.0.1", 7)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("shop.example:65535", ("shop.example", 65_535)),
        ("[::1]:7443", ("::1", 7_443)),
    ],
)
def test_an_address_to_listen_at(given: str | None, found: tuple[str, int]) -> None:
    assert _listen(given, Listen(host="10.0.0.1", port=7)) == found


@each("given", ["127.0.0.1", ":7443", "[]:7443", "x:", "x:7a", "x:65536", "x:-1", "[::1]"])
def test_what_is_no_address_to_listen_at_is_refused(given: str) -> None:
    error = refused(_listen, given, Listen())
    assert error.code == "input.invalid" and error.message.startswith("--listen needs ")


@each("given", ["::1:7443", "[::1:7443", "::1]:7443"])
def test_an_ipv6_address_needs_both_of_its_brackets(given: str) -> None:
    host = given.rpartition(":")[0]
    assert refused(_listen, given, Listen()).message == (
        f"--listen needs brackets around an IPv6 address: [{host}]:7443"
    )


def test_a_free_port_is_of_the_family_of_its_address() -> None:
    for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, free_port(host)))
    # Also after a restart: nothing the system hands out to outgoing connections.
    assert {free_port("127.0.0.1") // 32_768 for _ in range(20)} == {0}
    error = refused(free_port, "192.0.2.1")
    assert (error.code, error.detail) == ("input.invalid", {"host": "192.0.2.1"})
    assert error.message.startswith("cannot listen on 192.0.2.1: ")


def test_a_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free = free_port("127.0.0.1"), free_port("127.0.0.1")
    monkeypatch.setattr("random.sample", lambda ports, k: [taken, free])
    with socket.socket() as other:
        other.bind(("127.0.0.1", taken))
        assert free_port("127.0.0.1") == free
        monkeypatch.setattr("random.sample", lambda ports, k: [taken])
        assert refused(free_port, "127.0.0.1").message == "every port of 127.0.0.1 is taken"


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        ("anna-laptop.local", "anna-laptop.local"),
        ("Annas_Läptop 2", "Annas_Läptop 2"),
        ("a/b\u202ec", "a-b-c"),
        (".-x-.", "x"),
        ("///", "node"),
        ("", "node"),
        ("x" * 70, "x" * 64),
    ],
)
def test_a_node_is_named_like_its_machine_as_far_as_that_is_a_name(
    monkeypatch: pytest.MonkeyPatch, machine: str, name: str
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: machine)
    assert _host_name() == name


@each(
    ("host", "everywhere", "loopback"),
    [
        ("0.0.0.0", True, False),
        ("::", True, False),
        ("::ffff:0.0.0.0", True, False),
        ("", True, False),
        ("0", True, False),
        ("0x0", True, False),
        ("000.0", True, False),
        ("127.0.0.1", False, True),
        ("127.8.8.8", False, True),
        ("::1", False, True),
        ("::ffff:192.168.1.2", False, False),
        ("192.168.1.2", False, False),
        ("localhost", False, False),
        ("shop.example", False, False),
    ],
)
def test_hosts_that_are_every_interface_or_this_machine_alone(host: str, everywhere: bool, loopback: bool) -> None:
    assert (_is_everywhere(host), _is_loopback(host)) == (everywhere, loopback)


def test_peers_are_given_the_address_that_is_advertised_or_else_listened_at() -> None:
    two = ("https://one.example:7443", "https://two.example:7443")
    assert advertised_host(Listen(host="0.0.0.0", advertise=two)) == "one.example"
    assert advertised_host(Listen(host="192.168.1.2")) == "192.168.1.2"
    error = refused(advertised_host, Listen(host="::"))
    assert (error.code, error.message) == (
        "config.invalid",
        "listen.host :: needs listen.advertise, because peers cannot connect to it",
    )


# --- adapters --------------------------------------------------------------------------------------------------------


def ports_of(home: Path, config: Config) -> Any:
    """The adapters of a node with this configuration."""
    keys = FileKeyStore(home / "k", lambda path, data: None)
    own = identity.create(system_clock(), recovery.commitment(bytes(recovery.SEED_BYTES)))
    return wiring._ports(config, own, keys, Any, system_clock(), None)  # type: ignore[arg-type]


PROXY = ("signed+https://node.example:443", "signed+https://other.example:8443")


@pytest.mark.parametrize(
    ("listen", "server", "addresses"),
    [
        (Listen(host="127.0.0.1", port=7443), MeshServer, ("https://127.0.0.1:7443",)),
        (Listen(host="::1", port=7443), MeshServer, ("https://[::1]:7443",)),
        (Listen(host="127.0.0.1", port=7443, reach="both"), MeshServer, ("https://127.0.0.1:7443",)),
        (Listen(host="127.0.0.1", port=7443, reach="held"), MeshServer, ()),
        (Listen(host="::", advertise=("https://a.example:1",)), MeshServer, ("https://a.example:1",)),
        (Listen(proxy="rfc9421", port=7443, advertise=PROXY), SignedServer, PROXY),
    ],
)
def test_a_node_listens_and_is_reached_as_its_configuration_says(
    tmp_path: Path, listen: Listen, server: type, addresses: tuple[str, ...]
) -> None:
    ports = ports_of(tmp_path, Config(listen=listen))
    assert type(ports.server) is server and ports.addresses == addresses


@pytest.mark.parametrize(
    ("listen", "said"),
    [
        (Listen(proxy="rfc9421"), "listen.proxy needs listen.advertise"),
        (Listen(proxy="rfc9421", advertise=("https://a.example:1",)), "listen.proxy needs listen.advertise"),
        (Listen(proxy="rfc9421", advertise=(*PROXY, "https://a.example:1")), "listen.proxy needs listen.advertise"),
        (Listen(proxy="rfc9421", host="192.168.1.2", advertise=PROXY), "listen.proxy needs a loopback address"),
        (Listen(proxy="rfc9421", host="localhost", advertise=PROXY), "listen.proxy needs a loopback address"),
    ],
)
def test_a_node_behind_a_proxy_needs_its_address_and_the_loopback(tmp_path: Path, listen: Listen, said: str) -> None:
    error = refused(ports_of, tmp_path, Config(listen=listen))
    assert error.code == "config.invalid" and error.message.startswith(said)


def test_a_proxy_is_known_by_every_name_that_is_advertised(tmp_path: Path) -> None:
    server = ports_of(tmp_path, Config(listen=Listen(proxy="rfc9421", advertise=PROXY))).server
    assert (server._authorities, server._address) == (("node.example", "other.example:8443"), PROXY[0])


def test_keys_are_kept_as_asked_for_and_in_one_way_only(tmp_path: Path) -> None:
    assert type(new_key_store(tmp_path)) is FileKeyStore
    assert type(new_key_store(tmp_path, passphrase=lambda: b"x")) is PassphraseKeyStore
    assert type(new_key_store(tmp_path, keyring=True)) is KeyringKeyStore
    error = refused(new_key_store, tmp_path, passphrase=lambda: b"x", keyring=True)
    assert error.code == "input.invalid" and "choose either --keyring or --passphrase-file" in error.message


def test_the_browser_is_the_one_of_the_configuration() -> None:
    config = BrowserConfig(executable="/c", cdp_url="http://127.0.0.1:1", headless=False, sandbox=False)
    settings = BrowserSettings(executable="/c", cdp_url="http://127.0.0.1:1", headless=False, sandbox=False)
    assert browser_settings(config) == settings
    assert browser_settings(BrowserConfig()) == BrowserSettings(executable="", cdp_url="", headless=True, sandbox=True)


@each(("cdp_url", "expected"), [("", 3), ("http://127.0.0.1:1", 5)])
def test_an_attached_browser_is_connected_to_once(cdp_url: str, expected: int) -> None:
    async def none() -> Any:
        raise AssertionError("no browser is opened")

    config = BrowserConfig(cdp_url=cdp_url, contexts_max=5, contexts_per_browser_max=3)
    browsers = open_browsers(Config(browser=config), none)
    assert browsers._pool._contexts_max == expected


# --- init ------------------------------------------------------------------------------------------------------------


def made(home: Path, **given: Any) -> dict[str, Any]:
    """A new node."""
    usual = {"name": "anna", "listen": "127.0.0.1:7443", "config_file": None}
    return init_home(home, **{**usual, **given})


def test_a_new_node_is_private_and_has_its_recovery_key_beside_it(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    told = made(home)
    kept = Path(told["recovery_file"])
    assert kept.parent == home.parent and kept.stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    assert sorted(each.name for each in home.iterdir()) == [
        "config.yaml",
        "contents.json",
        "keylog.cbor",
        "witness.key",
    ]
    assert (home / "witness.key").stat().st_mode & 0o777 == 0o600
    assert len(told["recovery_words"].split()) == 24
    assert (told["home"], told["name"], told["listen"]) == (str(home), "anna", "127.0.0.1:7443")
    assert told["node"].startswith(told["short"]) and told["key_form"] == new_key_store(home).form


def test_a_directory_that_exists_becomes_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    made(home, recovery_out=str(tmp_path / "r"))
    assert home.stat().st_mode & 0o777 == 0o700


def test_options_go_before_the_configuration_and_it_before_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "machine")
    monkeypatch.setattr(setup, "free_port", lambda host: 4_711)
    file = tmp_path / "c.yaml"
    file.write_text("name: fromfile\nlisten: {host: '::1', port: 7}\nexplore: {workers: 3}\n")
    cases: list[tuple[dict[str, Any], tuple[str, str]]] = [
        ({"name": None, "listen": None}, ("machine", "127.0.0.1:4711")),
        ({"name": None, "listen": None, "config_file": str(file)}, ("fromfile", "[::1]:7")),
        ({"config_file": str(file)}, ("anna", "127.0.0.1:7443")),
        ({"name": None, "listen": "[::1]:0", "config_file": str(file)}, ("fromfile", "[::1]:4711")),
    ]
    for number, (given, (name, listen)) in enumerate(cases):
        home = tmp_path / str(number)
        told = made(home, recovery_out=str(tmp_path / f"r{number}"), **given)
        assert (told["name"], told["listen"]) == (name, listen)
        config = read_config(home / "config.yaml")
        assert (config.name, config.explore.workers) == (name, 3 if "config_file" in given else 1)
        assert f":{config.listen.port}" in listen and config.listen.host in listen


def test_nothing_is_made_of_what_could_not_be_read_again(tmp_path: Path) -> None:
    for given in ({"name": "a\nb"}, {"listen": "192.0.2.1:0"}, {"listen": "0.0.0.0:7443"}, {"name": "x" * 100}):
        assert refused(made, tmp_path / "h", **given).code in ("config.invalid", "input.invalid")
    assert list(tmp_path.iterdir()) == []


def test_a_node_that_was_not_made_leaves_no_recovery_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "r"
    for failure, code in (
        (MeshError("key.keyring"), "key.keyring"),
        (OSError(28, "full"), "store.full"),
        (OSError(13, "no"), "store.unwritable"),
    ):

        def keep(*given: Any, fails: Exception = failure) -> None:
            assert kept.exists()
            raise fails

        with monkeypatch.context() as patched:
            patched.setattr(identity, "keep", keep)
            error = refused(made, tmp_path / "h", recovery_out=str(kept))
        assert error.code == code and not kept.exists()
        if isinstance(failure, OSError):
            assert (error.message, error.detail) == (
                f"{tmp_path / 'h'}: {failure.strerror}",
                {"home": str(tmp_path / "h")},
            )
    made(tmp_path / "h", recovery_out=str(kept))
    assert refused(made, tmp_path / "h").code == "node.already_initialised"
    (tmp_path / "h" / "witness.key").unlink()
    assert refused(made, tmp_path / "h").code == "node.already_initialised"


# --- opening ---------------------------------------------------------------------------------------------------------


async def test_a_node_is_open_for_one_and_its_doctor_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "_LOCK_WAIT_S", 0.0)
    home, broken = tmp_path / "h", MeshError("store.corrupt", "broken")
    made(home)
    async with wiring.open_node(home) as node:
        assert node.rooms.home == home
        for work in (
            wiring.open_node(home).__aenter__(),
            wiring.examine_apart(home, broken, lambda: b"", browser=False),
        ):
            with pytest.raises(MeshError) as locked:
                await work
            assert locked.value.code == "node.locked"
    found = await wiring.examine_apart(home, broken, lambda: b"", browser=False)
    assert [check.status for check in found.checks if check.name == "node"] == ["fault"]


async def test_what_is_stored_is_loaded_when_a_node_opens_the_witness_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def watched(room: Any) -> None:
        load = room.load

        async def loads(self: Any) -> None:
            loaded.append(room.__name__)
            await load(self)

        monkeypatch.setattr(room, "load", loads)

    made(tmp_path / "h")
    for room in (Witness, Peers, ClockMark, RefusalBook, LogExchange, Notices, LiveSessions, Schedules):
        watched(room)
    async with wiring.open_node(tmp_path / "h"):
        assert loaded == [
            "Witness", "Peers", "ClockMark", "RefusalBook", "LogExchange", "LiveSessions", "Schedules", "Notices",
        ]  # fmt: skip
