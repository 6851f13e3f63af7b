"""Values made by chance for a type: what a verb could give, and what could be typed for a parameter."""

from __future__ import annotations

import random
from typing import Any

import click
import msgspec
from msgspec import inspect

NODE = "NODEABC-DEFGHIJ-KLMNOPQ-RSTUVWX-YZ23456-7ABCDEF-GHIJKLM-NOPQRST"
_TIMES = (0, 1_000, 1_772_000_000_123)
_TEXTS = {
    "node": (NODE, NODE.replace("ABC", "XYZ")),
    "who": ("owner", "agent:shopper", NODE),
    "caller": ("", "owner", "agent:shopper", NODE),
    "reach": ("",),
    "unreached": ("", "browser.unreachable"),
    "code": ("", "peer.unreachable"),
    "error": ("", "step.not_found"),
    "digits": ("123456",),
    "standing": ("", "peer.distrusted"),
}
_OF_RECORD = {
    ("text", "StepMatch"): ("", "same", "numbers", "differs"),
    ("standing", "PeerAudit"): ("current", "silent", "behind", "unproven", "contradicting", "unreachable"),
}


class Made:
    """One answer: every list in it is as long as the others."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._long = chance.choice((0, 1, 2, 5))
        self._count = 0

    def of(self, kind: Any, name: str = "", owner: str = "") -> Any:
        """A plain value of ``kind``, for the field ``name`` of the record ``owner``."""
        match kind:
            case inspect.Metadata(type=inner):
                return self.of(inner, name, owner)
            case inspect.StructType(cls=cls, fields=fields):
                return {each.encode_name: self.of(each.type, each.name, cls.__name__) for each in fields}
            case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
                return [self.of(inner, name, owner) for _ in range(self._long)]
            case inspect.TupleType(item_types=inner):
                return [self.of(each, name, owner) for each in inner]
            case inspect.DictType(value_type=inner):
                if (name, owner) in (("text", "Verified"), ("text", "Exported")):
                    return {each: self.of(inner, name, owner) for each in ("same", "numbers", "differs")}
                return {self._key(name): self.of(inner, name, owner) for _ in range(self._long)}
            case inspect.UnionType(types=types):
                if (name, owner) == ("revoked_s", "RevokedKey"):  # a key that was revoked has a time
                    types = types[:1]
                return self.of(self._chance.choice(types), name, owner)
            case inspect.LiteralType(values=values):
                return self._chance.choice(values)
            case inspect.EnumType(cls=cls):
                return self._chance.choice([each.value for each in cls])
            case inspect.BoolType():
                return self._chance.random() < 0.5
            case inspect.IntType():
                return self._number(name)
            case inspect.FloatType():
                return self._chance.choice((0.0, 1.25, 61.04))
            case inspect.StrType():
                return self._text(name, owner)
            case _:
                return None

    def _number(self, name: str) -> int:
        if name.endswith("_ms"):
            return self._chance.choice(_TIMES)
        if name.endswith("_s"):
            return self._chance.choice(_TIMES) // 1000
        return self._chance.choice((0, 1, 2, 7, 1_500_000))

    def _key(self, name: str) -> str:
        self._count += 1
        return f"KEY{self._count}-of-{name}-that-is-long"

    def _text(self, name: str, owner: str) -> str:
        self._count += 1
        known = _OF_RECORD.get((name, owner)) or _TEXTS.get(name) or (_TEXTS["node"] if "node" in name else None)
        return self._chance.choice(known or ("", f"{name}-{self._count}-0123456789abcdef", f"{name} {self._count}"))


def answer(gives: tuple[Any, ...], chance: random.Random) -> Any:
    """What a verb could give, in plain values. gives: the types of its result."""
    return Made(chance).of(inspect.type_info(chance.choice(gives)))


_TYPED = {
    "actions": "actions.yaml",
    "secrets": "shop=@secret.txt",
    "until": "{title: mug}",
    "grant": "peers:read",
    "grants": "session:read=https://shop.example",
    "ask": "peers:read",
    "profile": "locale=de-DE",
    "action": "{click: {ref: e1}}",
    "expires_s": "30d",
    "every_s": "90m",
    "jitter_s": "20s",
    "since_s": "2026-03-01T12:00",
    "until_s": "2026-03-01T12:00+01:00",
    "notify_command": "say 'it is done'",
    "peer": "@secret.txt",
    "cron": "0 7 * * *",
    "html": "report.html",
    "bundle": "secret.txt",
    "file": "secret.txt",
}


_LEFT_OUT = frozenset(
    {
        "home",
        "as_json",
        "help",
        "follow",
        # With these no node is asked: tests/unit/test_apart.py, test_cli_headed.py.
        "trust",
        "config",
        "headed",
        "attach",
        "output",
        "replaces",
    }
)


def words(command: click.Command, chance: random.Random, *, full: bool) -> list[str]:
    """What could be typed for ``command``. full: its options too."""
    found: list[str] = []
    for each in command.params:
        # An option of all commands that take long (--task) is no parameter of their verbs.
        if each.name in _LEFT_OUT or each.name is None or not each.expose_value:
            continue
        if not each.required and not (full and chance.random() < 0.7):
            continue
        typed = _value(each, chance)
        if isinstance(each, click.Argument):
            found += [typed] * (2 if each.nargs == -1 else 1)
        elif isinstance(each, click.Option) and each.is_flag:
            found.append(each.opts[0])
        else:
            found += [each.opts[0], typed] * (2 if each.multiple else 1)
    return found


def _value(each: click.Parameter, chance: random.Random) -> str:
    match each.type:
        case click.Choice(choices=choices):
            return str(chance.choice(list(choices)))
        case click.IntRange(min=least, max=most):
            return str(chance.choice([edge for edge in (least, most, (least or 0) + 1) if edge is not None]))
        case click.types.IntParamType():
            return "1"
        case click.types.FloatParamType():
            return "0.5"
        case _:
            return _TYPED.get(each.name or "", f"{each.name}-typed")


def plain(value: Any) -> str:
    """As one line."""
    return msgspec.json.encode(value, order="sorted").decode()
