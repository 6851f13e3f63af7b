"""Reads the document of a page as text for a person, and marks the elements found by the selectors of a target."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator

from adapters.browser.base.dom import DOM
from adapters.browser.base.masking import masker
from adapters.browser.base.text import loads
from adapters.browser.finding.finding import ElementFinder
from adapters.browser.observing.scripts import PATH_TO, by_ref
from adapters.browser.observing.view import View
from adapters.browser.observing.worlds import Worlds
from protocol import limits
from protocol.page.actions.action import Locator as ToFind
from protocol.page.actions.locator import ENTER_FRAME
from protocol.page.secrets.secrets import Secrets
from protocol.page.showing.markup import ATTRIBUTES, CLOSED, LEFT_OUT, VALUED, Markup, MarkupNode, Way

_MARKED_MAX: Final = 20  # elements marked for one way
_PATHS: Final = f"(all, most) => [all.length, Array.prototype.slice.call(all, 0, most).map({PATH_TO})]"
_READ: Final = (
    DOM
    + r"""
const KEPT = new Set(ATTRIBUTES), CLOSED = new Set(SHUT), LEFT_OUT = new Set(GONE), VALUED = new Set(WRITTEN);
const at = path => {
  let node = document;
  for (const index of path) node = node && (index < 0 ? prop(node, 'shadowRoot') : prop(node, 'childNodes')[index]);
  return node;
};
const marks = new Map(), near = new Set(NEAR), ways = WAYS;
const mark = (e, way) => e && marks.set(e, [...marks.get(e) || [], way]);
ways.forEach((paths, way) => paths.forEach(path => mark(at(path), way)));
const attributesOf = (e, tag) => {
  const kind = (invoke(e, 'getAttribute', 'type') || '').toLowerCase(), found = [];
  for (const {name, value} of prop(e, 'attributes')) {
    if (!KEPT.has(name) && !name.startsWith('aria-')) continue;
    if (name === 'value' && tag === 'input' && !VALUED.has(kind)) continue;
    if (found.length < MOST) found.push([name.slice(0, 64), value.slice(0, CHARS)]);
  }
  return found;
};
const shows = e => {
  const box = invoke(e, 'getBoundingClientRect');
  return box.width > 0 && box.height > 0 && invoke(e, 'checkVisibility', {visibilityProperty: true, opacityProperty: true});
};
// Not by recursion: a page can nest deeper than a script may call.
const nodes = [], typed = [], pending = [[prop(document, 'documentElement'), 0]];
let first = -1, whole = true;
while (pending.length) {
  const [n, depth] = pending.pop();
  if (!n) continue;
  if (nodes.length >= NODES) { whole = false; break; }
  if (n instanceof ShadowRoot || prop(n, 'nodeType') === 1) {
    const tag = n instanceof ShadowRoot ? '#shadow-root' : prop(n, 'localName').toLowerCase();
    if (depth) pending.push([prop(n, 'nextSibling'), depth]);
    if (LEFT_OUT.has(tag)) continue;
    if (tag === 'input' && n instanceof HTMLInputElement && prop(n, 'type') === 'password') typed.push(prop(n, 'value'));
    if (n._ariaRef && near.has(n._ariaRef.ref)) mark(n, ways.length);
    if (first < 0 && marks.has(n)) first = nodes.length;
    nodes.push([n, depth, tag]);
    if (CLOSED.has(tag)) continue;
    pending.push([prop(n, 'firstChild'), depth + 1]);
    const inner = tag[0] === '#' ? null : prop(n, 'shadowRoot');
    if (inner) pending.push([inner, depth + 1]);
  } else {
    pending.push([prop(n, 'nextSibling'), depth]);
    if (prop(n, 'nodeType') === 3 && prop(n, 'data').trim()) nodes.push([n, depth, '']);
  }
}
const start = Math.max(0, Math.min(first - (LINES >> 1), nodes.length - LINES)), read = [];
let left = ALL;
for (const [n, depth, tag] of nodes.slice(start, start + LINES)) {
  const found = marks.get(n) || [], pairs = tag && tag[0] !== '#' ? attributesOf(n, tag) : [];
  const text = tag ? '' : prop(n, 'data').replace(/\s+/g, ' ').trim().slice(0, CHARS);
  left -= text.length + pairs.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (left < 0) break;
  read.push([depth, tag.slice(0, 64), pairs, text, [...new Set(found)], Boolean(found.length) && !shows(n)]);
}
return JSON.stringify({nodes: read, before: start, after: nodes.length - start - read.length, whole, typed});
"""
)
_BOUNDS: Final = {
    "ATTRIBUTES": json.dumps(sorted(ATTRIBUTES)),
    "SHUT": json.dumps(CLOSED),
    "GONE": json.dumps(LEFT_OUT),
    "WRITTEN": json.dumps(VALUED),
    "NODES": str(limits.MARKUP_NODES_MAX),
    "LINES": str(limits.MARKUP_LINES_MAX),
    # A cut before redaction must not end inside a secret that begins in the shown part.
    "CHARS": str(limits.MARKUP_TEXT_CHARS_MAX + limits.SECRET_CHARS_MAX),
    "ALL": str(limits.MARKUP_CHARS_MAX),
    "MOST": str(limits.MARKUP_ATTRIBUTES_MAX),
}


async def read_markup(
    finding: ElementFinder, worlds: Worlds, view: View, targets: Sequence[ToFind], near: Sequence[str], secrets: Secrets
) -> Markup | None:
    """As ``adapters.ports.Page.markup``; None for a document that went away meanwhile. near: Playwright refs."""
    frame = targets[0].frame if targets else ""
    asked = [(said, each) for target in targets for said, each in await finding.ways(target, view)]
    found = await asyncio.gather(*(_paths(said, each) for said, each in asked))
    names = {"WAYS": json.dumps([paths for _, paths in found]), "NEAR": json.dumps(list(near))}
    given = "".join(f"const {name} = {value};" for name, value in (_BOUNDS | names).items())
    script = f"(() => {{{given}{_READ}}})()"
    known = view.nodes_in(frame) if frame else []
    if known:
        answers = await worlds.everywhere(by_ref(f"() => {script}", json.dumps(known[0])))
        answer = next(iter(answers), None)
    else:
        answer = await worlds.main(script)
    if answer is None:
        return None
    ways = tuple(Way(said, count) for (said, _), (count, _) in zip(asked, found, strict=True))
    return await asyncio.to_thread(_markup, answer, (*ways, Way("", len(near))) if near else ways, secrets)


def _markup(answer: str, ways: tuple[Way, ...], secrets: Secrets) -> Markup:
    read = loads(answer)
    # Only the document knows the content of a password field, and a page may show it.
    mask = masker(secrets, sorted(text for text in read["typed"] if len(text) > 1))
    nodes = tuple(
        msgspec.structs.replace(
            node,
            text=mask(node.text),
            attributes=tuple((name, mask(value)) for name, value in node.attributes),
        )
        for node in msgspec.convert(read["nodes"], tuple[MarkupNode, ...])
    )
    return Markup(nodes=nodes, ways=ways, before=read["before"], after=read["after"], whole=read["whole"])


async def _paths(said: str, every: Locator) -> tuple[int, list[Any]]:
    """The number of elements that a selector finds, and the positions of the first of them in their document."""
    try:
        count, paths = await every.evaluate_all(_PATHS, _MARKED_MAX)
    except PlaywrightError:
        return 0, []  # not a selector, which is reported elsewhere
    # A selector that enters a frame finds elements in another document, where the same path is another element.
    return count, [] if ENTER_FRAME in said else paths
