"""Reads what a document holds that no person sees, or no reader of its accessibility tree, and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from adapters.browser.view import Mask, well_formed
from protocol import limits
from protocol.page.hidden_text import HiddenText

_READ: Final = r"""
const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
const shadow = e => getter(Element.prototype, 'shadowRoot').call(e);
const parentOf = n => getter(Node.prototype, 'parentNode').call(n);
const above = n => { const p = parentOf(n); return p instanceof ShadowRoot ? p.host : p instanceof Element ? p : null; };
const textOf = n => getter(Node.prototype, 'textContent').call(n) || '';
const attributesOf = e => [...getter(Element.prototype, 'attributes').call(e)];
const seen = (e, options) => Element.prototype.checkVisibility.call(e, options);
const found = [], until = performance.now() + MILLISECONDS;
let left = CHARS;
const add = (why, at, text) => {
  text = text.slice(0, 8 * EACH).replace(/\s+/g, ' ').trim().slice(0, EACH);
  if (left <= 0 || found.length >= TEXTS) return;
  const last = found[found.length - 1];
  left -= text.length;
  // What is spread over elements that are hidden alike is one text.
  if (!at && last && last[0] === why && !last[1] && last[2].length + text.length < EACH) last[2] += ' ' + text;
  else found.push([why, at, text]);
};
const alpha = colour => { const m = /^rgba\([^)]*[, /]([\d.]+)\)$/.exec(colour); return m ? Number(m[1]) : 1; };
const parts = colour => (colour.match(/[\d.]+/g) || []).slice(0, 3).map(Number);
const alike = (one, other) => {
  const [a, b] = [parts(one), parts(other)];
  return a.length === 3 && b.length === 3 && a.every((value, i) => Math.abs(value - b[i]) <= 12);
};
const CLIPPED = /^(inset\((?:[5-9]\d|100)(?:\.\d+)?%|circle\(0|ellipse\(0)/;
// What an element takes from those around it, each asked once: its opacity, where it cannot be scrolled to, what clips it.
const states = new Map();
const OUTSIDE = {opacity: 1, fixed: false, clipped: false, clips: [], ground: 'rgb(255, 255, 255)', quiet: false};
const within = (e, outer) => {
  const style = getComputedStyle(e), cuts = /hidden|clip/.test(style.overflowX + style.overflowY);
  const edges = /^rect\(([-\d.]+)px, ([-\d.]+)px, ([-\d.]+)px, ([-\d.]+)px\)$/.exec(style.clip);
  const none = edges && /absolute|fixed/.test(style.position) && (edges[2] - edges[4] <= 1 || edges[3] - edges[1] <= 1);
  const opaque = alpha(style.backgroundColor);
  return {
    opacity: outer.opacity * Number(style.opacity), fixed: outer.fixed || style.position === 'fixed',
    clipped: outer.clipped || Boolean(none) || CLIPPED.test(style.clipPath),
    clips: cuts ? [...outer.clips.slice(-3), Element.prototype.getBoundingClientRect.call(e)] : outer.clips,
    ground: style.backgroundImage !== 'none' ? '' : opaque > .9 ? style.backgroundColor : opaque > .05 ? '' : outer.ground,
    quiet: outer.quiet || Element.prototype.getAttribute.call(e, 'aria-hidden') === 'true',
  };
};
const stateOf = e => {
  const unknown = [];
  for (let at = e; at && !states.has(at); at = above(at)) unknown.push(at);
  while (unknown.length) {
    const at = unknown.pop();
    states.set(at, within(at, states.get(above(at)) || OUTSIDE));
  }
  return states.get(e);
};
const outside = (r, state) => {
  if (state.fixed) return r.right <= 0 || r.bottom <= 0 || r.left >= innerWidth || r.top >= innerHeight;
  const root = document.documentElement;
  return r.right + scrollX <= 0 || r.bottom + scrollY <= 0
    || r.left + scrollX >= Math.max(root.scrollWidth, innerWidth) || r.top + scrollY >= Math.max(root.scrollHeight, innerHeight);
};
const misses = (r, box) => Math.min(r.right, box.right) - Math.max(r.left, box.left) <= 1
  || Math.min(r.bottom, box.bottom) - Math.max(r.top, box.top) <= 1;
const whyHidden = (e, node) => {
  if (e.tagName === 'OPTION') return '';  // a list shows it once it is opened
  if (!seen(e)) return 'display';
  const style = getComputedStyle(e), state = stateOf(e);
  if (style.visibility !== 'visible') return 'visibility';
  if (state.opacity < .05) return 'opacity';
  if (parseFloat(style.fontSize) < 3) return 'size';
  const range = new Range();
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()];
  if (boxes.every(r => r.width < 1 || r.height < 2)) return 'size';
  if (boxes.every(r => outside(r, state))) return 'place';
  if (state.clipped || boxes.every(r => state.clips.some(box => misses(r, box)))) return 'clip';
  const colour = style.webkitTextFillColor || style.color;
  if (alpha(colour) < .05 || (state.ground && style.textShadow === 'none' && alike(colour, state.ground))) return 'colour';
  return state.quiet ? 'tree' : '';
};
const PASSED = /^(class|style|d|points|src|srcset|srcdoc|href|xlink:href|on\w+)$/;
const SKIPPED = new Set(['SCRIPT', 'STYLE', 'TITLE', 'LINK']);
const childrenOf = root => {
  const children = [];
  for (let n = getter(Node.prototype, 'lastChild').call(root); n; n = getter(Node.prototype, 'previousSibling').call(n))
    children.push(n);
  return children;
};
const element = e => {
  const tag = e.tagName.toUpperCase(), named = n => Element.prototype.getAttribute.call(e, n);
  if (tag === 'TEMPLATE') add('template', '', textOf(getter(HTMLTemplateElement.prototype, 'content').call(e)));
  if (tag === 'NOSCRIPT') add('noscript', '', textOf(e));
  if (tag === 'TEMPLATE' || tag === 'NOSCRIPT') return [];
  for (const {name, value} of attributesOf(e)) {
    if (value.length < 12 || PASSED.test(name)) continue;
    if (tag === 'META') add('meta', named('name') || named('property') || name, value);
    else add('attribute', name, value);
  }
  if (SKIPPED.has(tag)) return [];
  return shadow(e) ? [...childrenOf(e), ...childrenOf(shadow(e))] : childrenOf(e);
};
// Not by recursion: a page can nest deeper than a script may call.
const pending = childrenOf(document);
while (pending.length && left > 0 && performance.now() < until) {
  const n = pending.pop();
  if (n instanceof Comment) add('comment', '', n.data);
  else if (n instanceof Element) for (const child of element(n)) pending.push(child);
  else if (n instanceof Text && n.data.trim().length > 1) {
    const e = above(n), why = e ? whyHidden(e, n) : '';
    if (why) add(why, '', n.data);
  }
}
return JSON.stringify(found.filter(one => one[2].length >= 12));
"""
_BOUNDS: Final = (
    f"const MILLISECONDS = {limits.HIDDEN_TEXT_MS}, CHARS = {limits.HIDDEN_TEXTS_CHARS_MAX},"
    f" EACH = {limits.HIDDEN_TEXT_CHARS_MAX}, TEXTS = {limits.HIDDEN_TEXTS_MAX};"
)
HIDDEN_TEXT: Final = f"(() => {{{_BOUNDS}{_READ}}})()"
"""The texts of a document as ``[why, at, text]``, in JSON. It runs in an isolated world."""


def hidden_texts(answers: Sequence[Any], mask: Mask) -> tuple[HiddenText, ...]:
    """What the script has found in the frames, without secrets. answers: of each frame, as JSON."""
    found = [
        {"why": why, "at": well_formed(at)[: limits.HIDDEN_AT_CHARS_MAX], "text": mask(well_formed(text))}
        for answer in answers
        for why, at, text in json.loads(answer)
    ]
    for one in found:
        one["text"] = one["text"][: limits.HIDDEN_TEXT_CHARS_MAX]
    return msgspec.convert(found[: limits.HIDDEN_TEXTS_MAX], tuple[HiddenText, ...])
