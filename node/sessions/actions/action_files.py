"""Parses action files: the actions to record, as hand-written YAML or as JSON exported by the Chrome DevTools Recorder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from node.config import YamlValue, invalid_in_words, load_yaml
from node.live.recording import Arrival
from node.sessions.actions.formats import reader_of
from node.sessions.actions.input_fields import read_inputs
from node.sessions.actions.yaml_forms import LOCATOR_KEYS, TRUTH, bad, duration_ms, mapping, text_in, value_in
from node.sessions.actions.yaml_steps import TARGETED, address_in, convert, read_steps, step_in
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Goto, Locator
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.secrets.redaction import is_incomplete, redact_url, secrets_named
from protocol.recording.records.session import Expect, Input, Profile, Skipped

_PROFILE = Profile()


class ActionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A list of actions, ready to be recorded."""

    title: str
    start_url: str
    profile: Profile
    actions: tuple[Action, ...]
    """The first action opens ``start_url``."""
    expects: Mapping[int, Expect] = {}
    """The requests of an action that are expected to fail, by the action's number from 1."""
    arrivals: Mapping[int, Arrival] = {}
    """The page that an action must lead to, by the action's number from 1."""
    notes: tuple[str, ...] = ()
    """Differences between this node and the recording's own player in performing the actions."""
    evidence: Mapping[int, ElementEvidence] = {}
    """The evidence of an action's element in an earlier recording, by the action's number from 1."""
    inputs: tuple[Input, ...] = ()
    """Values that actions use as ``${name}`` and that a replay can change."""
    skipped: tuple[Skipped, ...] = ()
    """Steps of a foreign recording that are left out."""
    capsule: str = ""
    """The capsule whose login the work begins with, by name or id; empty for none."""

    @property
    def said(self) -> tuple[str, ...]:
        """Notes for a person to read before the file is performed."""
        left_out = (f"skipped {one.place} ({one.what}): {one.reason}" for one in self.skipped)
        return (*left_out, *self.notes, *incomplete(self.actions))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets that the actions need, sorted."""
        return tuple(sorted({name for action in self.actions for name in secrets_named(action)}))


def read_action_file(path: Path, *, lenient: bool = False) -> ActionFile:
    """The actions in the file at ``path``, as from ``parse_actions``.

    Errors: ``input.no_file``, ``input.invalid``, ``input.too_large``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limits.ACTION_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise MeshError("input.no_file", f"{path.name} cannot be read: {error.strerror}", path=path.name) from error
    return parse_actions(data, path.stem, lenient=lenient)


def parse_actions(
    data: bytes,
    title: str = "",
    profile: Profile = _PROFILE,
    *,
    begins: str = "",
    known: frozenset[str] = frozenset(),
    lenient: bool = False,
) -> ActionFile:
    """The actions in ``data``. ``title`` and ``profile`` are used if the file gives none.

    lenient: leave out the steps of a foreign recording that cannot be performed; a YAML file is always read strictly. begins: the
    start address of earlier actions that these continue, if any; known: names that those have extracted, and names of inputs.

    Checks, in order: size; UTF-8; the form of the file (YAML without aliases, tags or duplicate keys; JSON); every step. Errors:
    ``input.invalid``, ``input.too_large``.
    """
    if len(data) > limits.ACTION_FILE_BYTES_MAX:
        raise MeshError("input.too_large", f"an action file can have at most {limits.ACTION_FILE_BYTES_MAX} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MeshError("input.invalid", "the file is not UTF-8 text") from error
    read_foreign = reader_of(text)
    if read_foreign is not None:
        recording = read_foreign(text, lenient=lenient)
        return _checked(
            ActionFile(
                title=recording.title or title,
                start_url=begins or _start(recording.actions, recording.skipped),
                profile=recording.profile,
                actions=recording.actions,
                expects=recording.expects,
                arrivals=recording.arrivals,
                notes=recording.notes,
                skipped=recording.skipped,
            )
        )
    return _checked(_from_yaml(load_yaml(text), title, profile, begins, known))


def incomplete(actions: Iterable[Action]) -> Iterator[str]:
    """Warnings about ``actions`` that open an address with parts that are not stored, so a replay opens another address."""
    for action in actions:
        if isinstance(action, Goto) and is_incomplete(told := redact_url(action.url)):
            yield (
                f"{told} has a part that is not stored, so a replay opens another address:"
                " write `{secret: NAME}` there"
            )


def read_live_steps(text: str, named: Callable[[str], Locator]) -> tuple[tuple[Action, Expect | None], ...]:
    """One step as a file has it, or a list of them, in which ``ref`` may stand for a locator.

    named: the locator of the element with an id.

    Errors: ``input.invalid``, those of ``named``.
    """
    root = load_yaml(text)
    nodes = root.value if isinstance(root.value, list) else [root]
    if not nodes:
        raise bad(root, "a list of steps needs at least one")
    return tuple(_live_step(node, named) for node in nodes)


def _live_step(node: YamlValue, named: Callable[[str], Locator]) -> tuple[Action, Expect | None]:
    root, timeout_ms, expect = _split(node)
    fields = mapping(root, "a step", None)
    verb, body = next(iter(fields.items())) if len(fields) == 1 else ("", root)
    if not verb or not isinstance(body.value, dict):
        return step_in(root, timeout_ms), expect
    meant: dict[str, Locator] = {}
    parts = dict(body.value)
    if "ref" in parts:
        if verb not in TARGETED:
            raise bad(body, f"{verb[:40]} takes no `ref`")
        meant["target"] = named(_taken(parts, body))
    onto = parts.get("onto")
    if onto is not None and isinstance(onto.value, dict) and "ref" in onto.value:
        inner = dict(onto.value)
        meant["onto"] = named(_taken(inner, onto))
        parts["onto"] = YamlValue(inner, onto.line)
    action = step_in(YamlValue({verb: YamlValue(parts, body.line)}, root.line), timeout_ms)
    return msgspec.structs.replace(action, **meant), expect


def _taken(parts: dict[str, YamlValue], body: YamlValue) -> str:
    """The ``ref`` in ``parts``, and a placeholder in its place: text from a page is never parsed as YAML."""
    ref = text_in(parts.pop("ref"), "ref")
    if parts.keys() & LOCATOR_KEYS:
        raise bad(body, "`ref` already identifies the element; leave out the locator")
    parts["role"] = YamlValue("generic", body.line)
    return ref


def _checked(file: ActionFile) -> ActionFile:
    if len(file.actions) > limits.SESSION_STEPS_MAX:
        raise MeshError("input.too_large", f"a session can have at most {limits.SESSION_STEPS_MAX} steps")
    if len(file.title) > limits.TITLE_CHARS_MAX:
        raise MeshError("input.too_large", f"a title can have at most {limits.TITLE_CHARS_MAX} characters")
    return file


def _start(actions: tuple[Action, ...], skipped: tuple[Skipped, ...] = ()) -> str:
    match actions[:1]:
        case (Goto(url=url),):
            return url
        case _:
            first = [f"; {one.place} ({one.what}) was left out: {one.reason}" for one in skipped if one.before == 1]
            told = f"the first step must open an address (`start:` or `goto:`){''.join(first[:3])}"
            raise MeshError("input.invalid", told, step=1)


def _from_yaml(root: YamlValue, title: str, default: Profile, begins: str, known: frozenset[str]) -> ActionFile:
    fields = mapping(root, "the file", {"title", "start", "profile", "capsule", "timeout", "inputs", "steps"})
    if "steps" not in fields:
        raise bad(root, "`steps:` is missing")
    steps = fields["steps"].value
    if not isinstance(steps, list):
        raise bad(fields["steps"], "`steps:` must be a list of actions")
    if not steps:
        raise bad(fields["steps"], "`steps:` is empty: a session needs at least one action")
    split = [_split(node) for node in steps]
    inputs = read_inputs(fields["inputs"], bad) if "inputs" in fields else ()
    if clash := sorted(known & {item.name for item in inputs}):
        raise bad(fields["inputs"], f"“{clash[0]}” is known already: choose another name")
    usual_ms = duration_ms(fields["timeout"], "timeout") if "timeout" in fields else 0
    timed = [(node, timeout_ms) for node, timeout_ms, _ in split]
    actions = read_steps(timed, known | {item.name for item in inputs}, usual_ms)
    start = fields.get("start")
    if begins and start is not None:
        raise bad(start, "these actions follow on others: leave out `start`, or use `goto`")
    # `start` becomes an action before the first step.
    first = 2 if start is not None else 1
    expects = {number: expect for number, (_, _, expect) in enumerate(split, first) if expect is not None}
    if start is not None:
        opening = {"type": "goto", "url": address_in(start, "start"), "timeout_ms": usual_ms}
        actions = (convert(start, opening), *actions)
    profile = _profile(fields["profile"], default) if "profile" in fields else default
    if begins and "capsule" in fields:
        raise bad(fields["capsule"], "these actions follow on others, which have begun already: leave out `capsule`")
    capsule = _capsule(fields["capsule"]) if "capsule" in fields else ""
    named = text_in(fields["title"], "title") if "title" in fields else title
    return ActionFile(
        title=named,
        start_url=begins or _start(actions),
        profile=profile,
        actions=actions,
        expects=expects,
        inputs=inputs,
        capsule=capsule,
    )


def _capsule(node: YamlValue) -> str:
    named = text_in(node, "capsule")
    if not 0 < len(named) <= limits.CAPSULE_LABEL_CHARS_MAX:
        raise bad(node, f"`capsule` names one, in at most {limits.CAPSULE_LABEL_CHARS_MAX} characters")
    return named


def _split(node: YamlValue) -> tuple[YamlValue, int, Expect | None]:
    """A step without the keys beside its action, and those: its time limit (0 for none) and its expected effect."""
    if not isinstance(node.value, dict):
        return node, 0, None
    beside = node.value
    timeout_ms = duration_ms(beside["timeout"], "timeout") if "timeout" in beside else 0
    expect = _expect(beside["expect"]) if "expect" in beside else None
    action = {key: item for key, item in beside.items() if key not in ("timeout", "expect")}
    return YamlValue(action, node.line), timeout_ms, expect


def _expect(body: YamlValue) -> Expect:
    fields = mapping(body, "expect", set(Expect.__struct_fields__))
    plain: dict[str, Any] = {key: _plain(item, key) for key, item in fields.items() if key != "dialog"}
    if "dialog" in fields:
        said = mapping(fields["dialog"], "dialog", set(DialogAnswer.__struct_fields__))
        plain["dialog"] = {
            key: _plain(item, key) if key == "accept" else text_in(item, key) for key, item in said.items()
        }
    try:
        expect = msgspec.convert(plain, Expect, strict=False)
    except msgspec.ValidationError as error:
        raise bad(body, invalid_in_words(error, Expect)) from error
    if expect == Expect():
        raise bad(body, "`expect` names nothing; write for example `expect: {status: 404}`")
    return expect


def _plain(node: YamlValue, key: str) -> Any:
    text = text_in(node, key)
    return TRUTH.get(text.lower(), text)


def _profile(node: YamlValue, default: Profile) -> Profile:
    known = set(Profile.__struct_fields__)
    plain = {key: value_in(value, key) for key, value in mapping(node, "profile", known).items()}
    try:
        profile: Profile = msgspec.convert({**msgspec.to_builtins(default), **plain}, Profile, strict=False)
    except msgspec.ValidationError as error:
        raise bad(node, invalid_in_words(error, Profile)) from error
    return profile
