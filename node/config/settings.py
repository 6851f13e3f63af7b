"""The configuration of a node as one frozen object, and the only reader of its file and environment variables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml

from node.base.ownership import check_private
from node.config.forms import (
    FOLDER_PATTERN,
    NAME_PATTERN,
    OPTIONAL_FILE_PATTERN,
    ORIGIN_PATTERN,
    PROXY_PATTERN,
    USER_PATTERN,
    invalid_in_words,
)
from node.config.safe_yaml import check_events, check_keys
from node.config.site_rules import check_sites
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.session import Profile
from protocol.risk.requests.allowed import AllowedRequest
from protocol.risk.requests.sites import SiteRule

CONFIG_FILE = "config.yaml"
_EXAMPLES = Path(__file__).resolve().parents[2] / "configs"
"""Beside the packages, in the source tree as in an installation."""

Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=limits.PEER_NAME_CHARS_MAX, pattern=NAME_PATTERN)]


Origin = Annotated[str, msgspec.Meta(max_length=300, pattern=ORIGIN_PATTERN)]


UploadFolder = Annotated[str, msgspec.Meta(max_length=4096, pattern=FOLDER_PATTERN)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Listen(_Record, frozen=True, kw_only=True):
    """The address for peers, and how they reach it."""

    host: str = "127.0.0.1"
    """Address to listen on. Nodes on other machines cannot reach a loopback address."""
    port: Port = 0
    """0: choose a free port at the first start and keep it."""
    advertise: tuple[str, ...] = ()
    """Addresses given to peers (``https://host:port``); empty gives the listening one."""
    reach: Literal["direct", "held", "both"] = "direct"
    """``direct``: peers connect to these addresses. ``held``: no address is published (the node is behind NAT); instead it keeps
    one connection to each peer open, over which the peer calls it. ``both``: addresses are published and connections kept open."""
    proxy: Literal["none", "rfc9421"] = "none"
    """``rfc9421``: a proxy in front terminates TLS and forwards plain HTTP to ``host``, which must be loopback; every
    message is signed. ``advertise`` then names the proxy: ``signed+https://host:port``."""


class Outgoing(_Record, frozen=True, kw_only=True):
    """Connections to peers."""

    ca_file: str = ""
    """PEM file of additional certificate authorities, for peers behind proxies that terminate TLS."""


class DiscoveryConfig(_Record, frozen=True, kw_only=True):
    """Nodes on the local network."""

    announce: bool = False
    """Announce this node's short id, address and port to everybody on the network."""
    interfaces: tuple[str, ...] = ()
    """IP addresses of the interfaces to use; empty uses all."""


class ProxyConfig(_Record, frozen=True, kw_only=True):
    """A proxy of the network. This node looks names up itself, and tells the proxy addresses only. Addresses of private networks
    are contacted directly.
    """

    name: Name
    """Its name for `trailmesh live open --proxy`."""
    address: Annotated[str, msgspec.Meta(max_length=300, pattern=PROXY_PATTERN)]
    """``http://HOST:PORT`` or ``socks5://HOST:PORT``."""
    user: Annotated[str, msgspec.Meta(max_length=128, pattern=USER_PATTERN)] = ""
    """The user at the proxy."""
    password_file: Annotated[str, msgspec.Meta(max_length=4096, pattern=OPTIONAL_FILE_PATTERN)] = ""
    """Absolute path of a file with the password of the user."""
    sites: Annotated[tuple[Origin, ...], msgspec.Meta(max_length=limits.SITE_RULES_MAX)] = ()
    """The sites that are always contacted through it."""


class BrowserConfig(_Record, frozen=True, kw_only=True):
    """Which Chromium to use, and limits on its use."""

    executable: str = ""
    """Path of a Chromium; empty looks for Playwright's own, then for the system's."""
    cdp_url: str = ""
    """Attach to a running Chromium (``http://127.0.0.1:9222``) instead of starting one."""
    headless: bool = True
    """False shows the windows of the browser."""
    sandbox: bool = True
    """Chromium's own sandbox. Only a test environment that runs as root has a reason to switch it off."""
    step_timeout_ms: Annotated[int, msgspec.Meta(ge=100, le=limits.ACTION_TIMEOUT_MS_MAX)] = limits.STEP_TIMEOUT_MS
    """How long one action may take, in milliseconds."""
    navigation_timeout_ms: Annotated[int, msgspec.Meta(ge=100, le=limits.ACTION_TIMEOUT_MS_MAX)] = (
        limits.NAVIGATION_TIMEOUT_MS
    )
    """How long an address may take to open, in milliseconds."""
    contexts_max: Annotated[int, msgspec.Meta(ge=1, le=256)] = limits.CONTEXTS_MAX
    """Maximum number of open browser contexts, over all users. Each context with one page takes about 60 MB."""
    contexts_for_owner: Annotated[int, msgspec.Meta(ge=0, le=255)] = limits.CONTEXTS_FOR_OWNER
    """How many of them agents and peers leave to the owner, schedules and what the node does by itself; one is left to agents and
    peers whatever it says."""
    contexts_per_browser_max: Annotated[int, msgspec.Meta(ge=1, le=256)] = limits.CONTEXTS_PER_BROWSER_MAX
    """Maximum number of contexts in one browser; if it crashes, all of them end. A lower number isolates better but takes more
    memory: a browser takes about 230 MB."""
    queue_max: Annotated[int, msgspec.Meta(ge=0, le=1_024)] = limits.CONTEXT_QUEUE_MAX
    """How many callers may wait for a context when all are in use; more are refused with ``live.busy``."""
    queue_seconds: Annotated[int, msgspec.Meta(ge=0, le=600)] = limits.CONTEXT_QUEUE_S
    """How long a caller waits for a context before it is refused with ``live.busy``."""
    idle_seconds: Annotated[int, msgspec.Meta(ge=1, le=86_400)] = limits.BROWSER_IDLE_S
    """A browser without a context is closed after this long; the next one takes about half a second to start."""
    upload_folders: Annotated[tuple[UploadFolder, ...], msgspec.Meta(max_length=32)] = ()
    """Folders whose files an action may upload: absolute paths. Without one, only files that a command hands over are uploaded.
    Links in them are not followed.
    """
    proxies: Annotated[tuple[ProxyConfig, ...], msgspec.Meta(max_length=32)] = ()
    """Proxies of the network, for a browser that this node starts."""
    profile: Profile = Profile()
    """The screen and the preferences that are reported to pages, unless a session says otherwise."""


class PolicyConfig(_Record, frozen=True, kw_only=True):
    """The limits of this node, for every caller. A coordinator cannot relax them."""

    origins: tuple[Origin, ...] = ()
    """Origins that may be visited, in lower case and without a default port (``https://shop.example``); ``https://*.shop.example``
    means every host below that domain. Empty allows all."""
    allow_requests: tuple[AllowedRequest, ...] = ()
    """Requests other than GET that may be sent: ``METHOD URL-glob``."""
    sites: Annotated[tuple[SiteRule, ...], msgspec.Meta(max_length=limits.SITE_RULES_MAX)] = ()
    """The reads and requests that are allowed at single sites, with reasons. If several rules name an origin, the most specific
    rule decides.
    """
    risk_class_max: Annotated[int, msgspec.Meta(ge=1, le=3)] = 3
    """Highest risk class performed without an approval; classes 4 and above always need one."""
    owner_key: Literal["optional", "required"] = "optional"
    """``required``: no call, the owner's neither, may allow or approve anything before a key of an owner is enrolled."""
    probe: bool = True
    """True if searches press a control that is not understood. What it sends is judged as ever: nothing but reads leaves."""
    peer_disk_mib: Annotated[int, msgspec.Meta(ge=1, le=1_048_576)] = limits.PEER_DISK_MIB
    """How much of the store one peer may use, in MiB; more is refused."""
    log_silence: Literal["warn", "freeze"] = "warn"
    """The reaction to a peer that does not show its log, shows an older state of it, or declares lost entries. ``warn``: inform
    the owner. ``freeze``: also suspend the peer's scopes until it shows the log or the owner trusts it again (``node trust``).
    """
    log_age_s: Annotated[int, msgspec.Meta(ge=300, le=31_536_000)] = 86_400
    """Maximum age of the last head that a peer showed, in seconds. After that the peer counts as not showing its log."""


class MetricsConfig(_Record, frozen=True, kw_only=True):
    """The metrics port for Prometheus: ``GET /metrics``, plain HTTP without authentication."""

    port: Port = 0
    """0: no metrics port."""
    host: str = "127.0.0.1"
    """Address of the metrics port."""
    public: bool = False
    """Must be true if the host is not loopback, because anyone who can reach the port can read the metrics."""


class ControlConfig(_Record, frozen=True, kw_only=True):
    """The socket for agents in other accounts and containers (docs/agents.md). The owner has a separate socket."""

    directory: str = ""
    """Absolute path of an existing directory for the socket; empty: create ``control`` in the data directory."""
    access: Literal["owner", "group", "all"] = "owner"
    """Who may connect: this user, its group, or every account of this machine. Each call also needs a token."""


class HttpConfig(_Record, frozen=True, kw_only=True):
    """The HTTP door for programs: verbs and MCP, each call with the token of an agent (docs/mcp.md)."""

    serve: bool = False
    """True opens it."""
    port: Port = 0
    """0: a free port is taken when the node is made and kept; in a file that is written by hand, at each start."""
    host: str = "127.0.0.1"
    """Address of the door."""
    public: bool = False
    """Must be true if the host is not loopback, because tokens and pages then cross the network without encryption."""


class PageConfig(_Record, frozen=True, kw_only=True):
    """The page of the node for the web browser of its owner (docs/page.md). It opens with the first `trailmesh ui`."""

    port: Port = 0
    """0: any free port, at each start."""
    host: str = "127.0.0.1"
    """Address of the page."""
    public: bool = False
    """Must be true if the host is not loopback, because the link and all pictures then cross the network without encryption."""


class DoorsConfig(_Record, frozen=True, kw_only=True):
    """The ways into the node, apart from those with keys of their own."""

    http: HttpConfig = HttpConfig()
    page: PageConfig = PageConfig()


class ExploreConfig(_Record, frozen=True, kw_only=True):
    """Limits on the exploring that this node does."""

    workers: Annotated[int, msgspec.Meta(ge=0, le=16)] = 1
    """Branches this node explores at the same time; 0 only coordinates."""
    lease_seconds: Annotated[int, msgspec.Meta(ge=2, le=600)] = 20
    """How long a worker may work on a branch before it asks again, as coordinator of a search."""
    lease_iterations: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    """How many iterations a worker may do on a branch before it asks again, as coordinator of a search."""
    rollout_steps: Annotated[int, msgspec.Meta(ge=0, le=16)] = 3
    """How many further actions an iteration tries from a page that it has just found."""


class Config(_Record, frozen=True, kw_only=True):
    """Everything that can be configured; each field has a default that works on one machine."""

    name: Name = "node"
    """Name that peers see."""
    listen: Listen = Listen()
    outgoing: Outgoing = Outgoing()
    discovery: DiscoveryConfig = DiscoveryConfig()
    browser: BrowserConfig = BrowserConfig()
    policy: PolicyConfig = PolicyConfig()
    explore: ExploreConfig = ExploreConfig()
    metrics: MetricsConfig = MetricsConfig()
    control: ControlConfig = ControlConfig()
    doors: DoorsConfig = DoorsConfig()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important lines that ``node serve`` writes to its log."""


def parse(text: str, *, source: str = CONFIG_FILE) -> Config:
    """The configuration in YAML ``text``.

    Checks, in order: size; aliases, tags, nesting and count of values; each key once; YAML; fields. Errors: ``config.invalid``
    with the place.
    """
    if len(text) > limits.CONFIG_CHARS_MAX:
        raise _too_long(source)
    try:
        check_events(text)
        check_keys(text)
        plain: Any = yaml.load(text, Loader=yaml.CSafeLoader)
        if plain is None:  # A truncated file must not silently allow what the complete file had forbidden.
            raise MeshError("config.invalid", "the file is empty; write {} to use all defaults")
        config = msgspec.convert(plain, Config)
        check_sites(config.policy.sites)
        _check_proxies(config.browser)
        return config
    except MeshError as error:
        raise MeshError("config.invalid", f"{source}, {error.message}", source=source) from error
    except msgspec.ValidationError as error:
        raise MeshError("config.invalid", f"{source}: {invalid_in_words(error, Config)}", source=source) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date, or an integer with too many digits
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise MeshError("config.invalid", f"{source}{place}: not valid YAML", source=source) from error


def _too_long(source: str) -> MeshError:
    return MeshError("config.invalid", f"{source}: more than {limits.CONFIG_CHARS_MAX} characters", source=source)


_BYTES_MAX: Final = 4 * limits.CONFIG_CHARS_MAX
"""A character of UTF-8 has four bytes at most."""


def read(path: Path) -> Config:
    """The configuration in the file ``path``. Errors: ``config.invalid``, also if the file is not UTF-8."""
    try:
        with path.open("rb") as file:  # what is no plain file may not end
            data = file.read(_BYTES_MAX + 1)
        if len(data) > _BYTES_MAX:
            raise _too_long(str(path))
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MeshError("config.invalid", f"{path} is not text in UTF-8", source=str(path)) from error
    except OSError as error:
        raise MeshError("config.invalid", f"{path} cannot be read: {error.strerror}", source=str(path)) from error
    return parse(text, source=str(path))


def starting(given: str) -> Path:
    """The file that ``--config`` means: a path, or the name of one of the example configurations if there is no such file."""
    example = _EXAMPLES / f"{given}.yaml"
    if Path(given).exists() or "/" in given or not example.is_file():
        return Path(given)
    return example


def is_example(path: Path) -> bool:
    """True if it is a configuration that belongs to the program: whoever can change that can change the program too."""
    return path.parent == _EXAMPLES


def _check_proxies(browser: BrowserConfig) -> None:
    """Errors: ``input.invalid``."""
    names = [proxy.name for proxy in browser.proxies]
    if names and browser.cdp_url:
        raise MeshError(
            "input.invalid", "`browser.proxies` are for a browser that this node starts, and not for `browser.cdp_url`"
        )
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise MeshError("input.invalid", f"two of `browser.proxies` have the name {twice}")


def load(home: Path) -> Config:
    """The configuration of the node in ``home``. Errors: ``node.exposed``, ``node.not_initialised``, ``config.invalid``."""
    path = home / CONFIG_FILE
    check_private(home)
    try:
        return read(path)
    except MeshError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise MeshError("node.not_initialised", f"no node in {home}", home=str(home)) from error
        raise


def render(config: Config) -> str:
    """``config`` as YAML."""
    return yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False, allow_unicode=True)
