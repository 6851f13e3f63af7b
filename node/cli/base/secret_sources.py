"""Reads secrets for ``--secret NAME[:text|:basic][@ORIGIN[,ORIGIN]]=SOURCE`` from their sources, in the process of the command.

A value is never on the command line: other users of the machine can see the arguments of a process, and a shell stores them. So no
error quotes the text that was typed as a source.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import SECRET_NAME_PATTERN

_FORM: Final = (
    "--secret needs NAME@https://shop.example=SOURCE, where SOURCE is prompt:, env:VARIABLE, keyring:SERVICE/USER, cmd:PROGRAM …"
    " or file:PATH, because other users of this machine can see arguments"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOTP: Final = "totp:"


class SecretSource(NamedTuple):
    """A secret as written on the command line."""

    name: str
    is_text: bool
    origins: tuple[str, ...]
    is_totp: bool
    kind: str
    """A key of ``_READ``, or ``env``."""
    where: str
    is_basic: bool = False
    """True if it is for HTTP basic authentication."""


def read_secrets(typed: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The secrets of the options ``typed``, as ``GivenSecret`` in plain data, by name.

    All are parsed before the first one is read. A variable is removed from the environment after it is read, because programs and
    browsers that this process starts would inherit it. Errors: ``input.invalid``, ``secret.literal``, ``secret.unread``,
    ``secret.late``.
    """
    sources = [parse_source(text) for text in typed]
    variables = {source.where: os.environ.get(source.where) for source in sources if source.kind == "env"}
    for name in variables:
        os.environ.pop(name, None)
    secrets: dict[str, dict[str, Any]] = {}
    for source in sources:
        secrets[source.name] = {
            "value": _value(source, variables),
            "origins": list(source.origins),
            "text": source.is_text,
        }
        if source.is_totp:
            secrets[source.name]["totp"] = True
        if source.is_basic:
            secrets[source.name]["basic"] = True
    return secrets


def only_needed(typed: Sequence[str], needed: Callable[[], frozenset[str] | None]) -> list[str]:
    """``typed``, without secrets that would be asked for but not used.

    Files and variables are always read: their values are redacted from stored data, even if nobody types them. needed: called only
    if a person or a program would be asked; None for all secrets. Errors: as ``parse_source``, those of ``needed``.
    """
    sources = [parse_source(text) for text in typed]
    if not any(source.kind in _ASKING for source in sources):
        return list(typed)
    names = needed()
    if names is not None:  # nobody knows in advance which site will ask for basic authentication
        names |= {source.name for source in sources if source.is_basic}
    kept = zip(sources, typed, strict=True)
    return [text for source, text in kept if names is None or source.kind not in _ASKING or source.name in names]


def parse_source(text: str) -> SecretSource:
    """One option, parsed but not read yet. Errors: ``input.invalid``, ``secret.literal``; neither quotes the text after ``=``."""
    named, equals, where = text.partition("=")
    given, _, origins = named.partition("@")
    name, colon, kind = given.partition(":")
    if not equals or not re.fullmatch(SECRET_NAME_PATTERN, name) or (colon and kind not in ("text", "basic")):
        raise MeshError("input.invalid", _FORM)
    is_totp = where.startswith(_TOTP)
    where = where.removeprefix(_TOTP)
    scheme, colon, rest = ("file", ":", where[1:]) if where.startswith("@") else where.partition(":")
    if not colon or scheme not in (*_READ, "env"):
        raise MeshError("secret.literal", "--secret takes the place where a value is kept, and not the value")
    if not _fits(scheme, rest):
        raise MeshError("input.invalid", _FORM)
    if is_totp and kind == "basic":
        raise MeshError("input.invalid", _FORM)
    sites = tuple(origins.split(",")) if origins else ()
    return SecretSource(name, kind == "text", sites, is_totp, scheme, rest, kind == "basic")


def _fits(scheme: str, rest: str) -> bool:
    match scheme:
        case "prompt":
            return not rest
        case "env":
            return _VARIABLE.fullmatch(rest) is not None
        case "keyring":
            service, slash, user = rest.rpartition("/")
            return bool(service and slash and user)
        case _:
            return bool(rest.strip())


def _value(source: SecretSource, variables: Mapping[str, str | None]) -> str:
    found = _variable(source, variables) if source.kind == "env" else _READ[source.kind](source)
    value = found.rstrip("\r\n")
    if not value:
        raise MeshError("secret.unread", f"the secret {source.name} is empty", name=source.name)
    if len(value) > limits.SECRET_CHARS_MAX:
        most = limits.SECRET_CHARS_MAX
        raise MeshError("secret.unread", f"the secret {source.name} has more than {most} characters", name=source.name)
    return value


def _prompt(source: SecretSource) -> str:
    # Without a terminal nobody can answer, and getpass would read whatever a program writes into the pipe.
    if not sys.stdin.isatty():
        raise MeshError("secret.unread", f"there is no terminal to ask for the secret {source.name}", name=source.name)
    what = "Seed of the one-time codes" if source.is_totp else "USER:PASSWORD" if source.is_basic else "Secret"
    where = f" for {', '.join(source.origins)}" if source.origins else ""
    return getpass.getpass(f"{what} {source.name}{where}: ")


def _variable(source: SecretSource, variables: Mapping[str, str | None]) -> str:
    found = variables[source.where]
    if found is None:
        message = f"the secret {source.name}: there is no variable {source.where}"
        raise MeshError("secret.unread", message, name=source.name)
    return found


def _file(source: SecretSource) -> str:
    try:
        with Path(source.where).open("rb") as file:
            data = file.read(limits.SECRET_SOURCE_BYTES_MAX + 1)
        if len(data) > limits.SECRET_SOURCE_BYTES_MAX:
            raise MeshError("input.invalid", f"the file of the secret {source.name} is too large")
        return data.decode().rstrip("\n")
    except (OSError, UnicodeDecodeError):
        raise MeshError("input.invalid", f"the file of the secret {source.name} cannot be read") from None


def _keyring(source: SecretSource) -> str:
    from node.process.wiring import secret_from_keyring

    service, _, user = source.where.rpartition("/")
    return _of(source, lambda: secret_from_keyring(service, user))


def _command(source: SecretSource) -> str:
    from node.process.wiring import secret_from_command

    try:
        words = shlex.split(source.where)
    except ValueError:
        raise MeshError("input.invalid", f"the command of the secret {source.name} has an open quote") from None
    return _of(source, lambda: secret_from_command(words))


def _of(source: SecretSource, read: Callable[[], str]) -> str:
    """The result of ``read``; its error names the secret."""
    try:
        return read()
    except MeshError as error:
        raise MeshError(error.code, f"the secret {source.name}: {error.message}", name=source.name) from None


_READ: Final[Mapping[str, Callable[[SecretSource], str]]] = {
    "prompt": _prompt,
    "keyring": _keyring,
    "cmd": _command,
    "file": _file,
}
_ASKING: Final = frozenset({"prompt", "keyring", "cmd"})
"""Sources that ask a person, or run a program."""
