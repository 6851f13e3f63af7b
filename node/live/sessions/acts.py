"""The actions that the verbs of live sessions stand for."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Final, NamedTuple

import msgspec

from node.config import invalid_in_words
from node.verbs.live.live_params import (
    AssertParams,
    CheckParams,
    ClickParams,
    DragParams,
    EmulateParams,
    EvaluateParams,
    ExtractParams,
    FillParams,
    NavigateParams,
    PressParams,
    ScrollParams,
    SelectParams,
    TypeParams,
    UploadParams,
    WaitParams,
)
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Check,
    Click,
    Drag,
    Emulate,
    Evaluate,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    Upload,
    Wait,
    target_of,
)
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.showing.element_ids import by_id
from protocol.recording.records.session import Expect

_TRUTH: Final = {"yes": True, "no": False}
_EMULATED: Final = ("color_scheme", "reduced_motion", "offline", "location")


class FieldValue(NamedTuple):
    """A value for a field whose kind is known only once its element is found."""

    target: Locator
    value: str | Secret
    timeout_ms: int = 0


class Act(NamedTuple):
    """One action, whose elements may be named ``by_id``, and what it is meant to cause."""

    action: Action | FieldValue
    expect: Expect | None = None

    @property
    def target(self) -> Locator | None:
        """The element that it is for, if it is for one."""
        return self.action.target if isinstance(self.action, FieldValue) else target_of(self.action)


def fills(action: Action | FieldValue) -> bool:
    """True for an action that puts a value into a field."""
    return isinstance(action, FieldValue | Fill | Select | Check)


@singledispatch
def acts_of(given: Any) -> tuple[Act, ...]:
    """The actions that a verb with these parameters performs, in order. Errors: ``input.invalid``."""
    raise TypeError(f"{type(given).__name__} is not for acting")


def _maybe(ref: str) -> Locator | None:
    return by_id(ref) if ref else None


def _ms(seconds: float) -> int:
    return round(seconds * 1_000)


@acts_of.register
def _(given: NavigateParams) -> tuple[Act, ...]:
    return (Act(Goto(url=given.url, timeout_ms=_ms(given.timeout))),)


@acts_of.register
def _(given: ClickParams) -> tuple[Act, ...]:
    action = Click(
        target=by_id(given.ref), button=given.button, count=2 if given.double else 1, timeout_ms=_ms(given.timeout)
    )
    if given.reply and given.accept != "prompt":
        raise MeshError("input.invalid", "only a prompt that is accepted takes a reply")
    answer = DialogAnswer(kind=given.accept, accept=True, reply=given.reply) if given.accept else None
    return (Act(action, Expect(dialog=answer) if answer else None),)


@acts_of.register
def _(given: TypeParams) -> tuple[Act, ...]:
    if given.secret and given.text:
        raise MeshError("input.invalid", "give a text or the name of a secret, not both")
    if given.text is None and not given.secret:
        raise MeshError("input.invalid", "give a text, or the name of a secret; an empty text clears the field")
    value = Secret(secret=given.secret) if given.secret else given.text or ""
    return (
        Act(Fill(target=by_id(given.ref), value=value, timeout_ms=_ms(given.timeout))),
        *_submit(given.submit, given.ref, given.timeout),
    )


def _submit(wanted: bool, ref: str, timeout: float) -> tuple[Act, ...]:
    return (Act(Press(key="Enter", target=by_id(ref), timeout_ms=_ms(timeout))),) if wanted else ()


@acts_of.register
def _(given: FillParams) -> tuple[Act, ...]:
    if both := given.fields.keys() & given.secret.keys():
        raise MeshError("input.invalid", f"give a text or a secret for {min(both)}, not both")
    values: dict[str, str | Secret] = {
        **given.fields,
        **{ref: Secret(secret=name) for ref, name in given.secret.items()},
    }
    if not values:
        raise MeshError("input.invalid", "give at least one field: e17=TEXT")
    filled = (Act(FieldValue(by_id(ref), value, _ms(given.timeout))) for ref, value in values.items())
    return (*filled, *_submit(given.submit, list(values)[-1], given.timeout))


@acts_of.register
def _(given: SelectParams) -> tuple[Act, ...]:
    first, *also = given.values
    action = Select(target=by_id(given.ref), option=first, also=tuple(also), timeout_ms=_ms(given.timeout))
    return (Act(action),)


@acts_of.register
def _(given: CheckParams) -> tuple[Act, ...]:
    return (Act(Check(target=by_id(given.ref), checked=not given.off, timeout_ms=_ms(given.timeout))),)


@acts_of.register
def _(given: DragParams) -> tuple[Act, ...]:
    return (Act(Drag(target=by_id(given.ref), onto=by_id(given.onto), timeout_ms=_ms(given.timeout))),)


@acts_of.register
def _(given: UploadParams) -> tuple[Act, ...]:
    return (Act(Upload(target=by_id(given.ref), files=tuple(given.files), timeout_ms=_ms(given.timeout))),)


@acts_of.register
def _(given: PressParams) -> tuple[Act, ...]:
    return (Act(Press(key=given.key, target=_maybe(given.ref), timeout_ms=_ms(given.timeout))),)


@acts_of.register
def _(given: ScrollParams) -> tuple[Act, ...]:
    if given.to in ("up", "down"):
        return (Act(Scroll(direction=given.to, amount_px=given.amount)),)  # type: ignore[arg-type]
    return (Act(ScrollTo(target=by_id(given.to))),)


@acts_of.register
def _(given: WaitParams) -> tuple[Act, ...]:
    return (
        Act(
            Wait(
                text=given.text,
                target=_maybe(given.ref),
                state="hidden" if given.gone else "visible",
                address=given.address,
                timeout_ms=_ms(given.time),
            )
        ),
    )


@acts_of.register
def _(given: ExtractParams) -> tuple[Act, ...]:
    return (Act(Extract(name=given.name, target=_maybe(given.ref), kind=given.kind)),)


@acts_of.register
def _(given: EmulateParams) -> tuple[Act, ...]:
    asked = {name: _TRUTH.get(value, value) for name in _EMULATED if (value := getattr(given, name))}
    sizes = {f"{name}_px": value for name in ("width", "height") if (value := getattr(given, name))}
    if not asked and not sizes:
        raise MeshError("input.invalid", "say what to change")
    try:
        action = msgspec.convert({"type": "emulate", **asked, **sizes, "timeout_ms": _ms(given.timeout)}, Emulate)
    except msgspec.ValidationError as error:
        raise MeshError("input.invalid", invalid_in_words(error, Emulate)) from error
    return (Act(action),)


@acts_of.register
def _(given: EvaluateParams) -> tuple[Act, ...]:
    return (Act(Evaluate(script=given.script, target=_maybe(given.ref), timeout_ms=_ms(given.timeout))),)


@acts_of.register
def _(given: AssertParams) -> tuple[Act, ...]:
    action = Assert(
        what=given.what,
        expected=given.expected,
        match="is" if given.whole else "contains",
        target=_maybe(given.ref),
    )
    return (Act(action),)
