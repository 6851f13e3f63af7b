"""Reads the texts of a document that people cannot see or that its accessibility tree lacks, each with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from adapters.browser.base.masking import Mask
from adapters.browser.base.text import loads
from protocol import limits
from protocol.page.instructions.hidden_text import HiddenText, HiddenTexts
from protocol.page.instructions.instructions import needed_words

_UNIQUE_CHARS_MIN: Final = 4
"""Longer parts of words are searched within words too, which is faster."""
_READ: Final = r"""
const getter = (p, n) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(p, n).get);
const bound = (p, n) => Function.prototype.call.bind(p[n]);
// Each is read through its prototype: a form's field can hide a property of the form, and a name one of the document.
const shadow = getter(Element.prototype, 'shadowRoot'), parentOf = getter(Node.prototype, 'parentNode');
const firstChild = getter(Node.prototype, 'firstChild'), next = getter(Node.prototype, 'nextSibling');
const textOf = getter(Node.prototype, 'textContent'), attributesOf = getter(Element.prototype, 'attributes');
const contentOf = getter(HTMLTemplateElement.prototype, 'content'), nameOf = getter(Element.prototype, 'localName');
const dataOf = getter(CharacterData.prototype, 'data'), kindOf = getter(Node.prototype, 'nodeType');
const named = bound(Element.prototype, 'getAttribute'), seen = bound(Element.prototype, 'checkVisibility');
const boxOf = bound(Element.prototype, 'getBoundingClientRect');
const root = getter(Document.prototype, 'documentElement')(document), range = new Range();
const above = n => { const p = parentOf(n); return p instanceof ShadowRoot ? p.host : p instanceof Element ? p : null; };

// --- texts that may address a model: with a word that a rule needs, or a possible disguise of one ---
const plain = text => {
  text = text.replace(/\s+/g, ' ');
  return /[^ -~]/.test(text) ? text.normalize('NFKD').toLowerCase().replace(/[\p{M}\p{C}]/gu, '').replaceAll('ß', 'ss')
    : text.toLowerCase();
};
const CODED = new RegExp(['\\S{24}', '%[0-9a-f]{2}', '&[#a-z]', '\\\\', '[01]{8}', '(?<!\\S)[.-]{2,6}(?!\\S)',
  '(?<!\\S)[.-] [./-]', '(?<!\\w)\\w \\w(?!\\w)', '[i1]gn[o0]r[e3]', '[i1]n[s5$][t7]ruc[t7]'].join('|'));
const TAGS = /[\u{E0020}-\u{E007E}]/u;
const speaks = text => {
  const read = plain(text);
  return WORDS.test(read) || EDGED.test(read) || CODED.test(read) || (read.length < text.length && TAGS.test(text));
};

// --- in document order: texts, and other content that may address a model, as [why, at, text] ---
const items = [], wanted = [];
let whole = true, left = CHARS;
const other = (why, at, text) => {
  if (text.length < 12) return;
  if (text.length > 4 * CHARS) { whole = false; text = text.slice(0, 4 * CHARS); }
  text = text.replace(/\s+/g, ' ').trim();
  // A long text is judged in parts, which overlap so that no sentence is lost at a border.
  for (let start = 0; start === 0 || start < text.length - EACH / 8; start += EACH - EACH / 8) {
    const part = text.slice(start, start + EACH);
    if (part.length >= 12 && speaks(part)) items.push([why, at, part]);
  }
};
const PASSED = /^(class|style|d|points|src|srcset|srcdoc|href|xlink:href|on\w+)$/;
const CLOSED = new Set(['script', 'style', 'title', 'link', 'noscript']);
const enter = e => {
  const tag = nameOf(e).toLowerCase();
  if (e instanceof HTMLTemplateElement) other('template', '', textOf(contentOf(e)));
  if (tag === 'noscript') other('noscript', '', textOf(e));
  for (const {name, value} of attributesOf(e)) {
    if (value.length < 12 || PASSED.test(name)) continue;
    if (tag === 'meta') other('meta', named(e, 'name') || named(e, 'property') || name, value);
    else other('attribute', name, value);
  }
  if (CLOSED.has(tag)) return [];
  return shadow(e) ? [e, shadow(e)] : [e];
};
// Not by recursion: a page can nest deeper than a script may call.
const pending = [firstChild(document)];
const walk = () => {
  const n = pending.pop();
  if (!n) return;
  pending.push(next(n));
  const kind = kindOf(n);
  if (kind === 8) other('comment', '', dataOf(n));
  else if (kind === 1) for (const inner of enter(n).reverse()) pending.push(firstChild(inner));
  else if (kind === 3 || kind === 4) {
    const text = dataOf(n);
    if (text.length < 2 || text.trim().length < 2) return;
    if (speaks(text)) wanted.push(items.length);
    items.push(n);
  }
};

// --- reasons why a text is not seen ---
const alpha = colour => { const m = /^rgba\([^)]*[, /]([\d.]+)\)$/.exec(colour); return m ? Number(m[1]) : 1; };
const parts = colour => (colour.match(/[\d.]+/g) || []).slice(0, 3).map(Number);
const alike = (one, other) => {
  const [a, b] = [parts(one), parts(other)];
  return a.length === 3 && b.length === 3 && a.every((value, i) => Math.abs(value - b[i]) <= 12);
};
const CLIPPED = /^(inset\((?:[5-9]\d|100)(?:\.\d+)?%|circle\(0|ellipse\(0)/;
// Inherited state of an element, computed once each: its opacity, if it cannot be scrolled to, its clips.
const states = new Map();
const OUTSIDE = {opacity: 1, fixed: false, clipped: false, clips: [], ground: 'rgb(255, 255, 255)', quiet: false};
const within = (e, outer) => {
  const style = getComputedStyle(e), cuts = /hidden|clip/.test(style.overflowX + style.overflowY), position = style.position;
  const edges = /^rect\(([-\d.]+)px, ([-\d.]+)px, ([-\d.]+)px, ([-\d.]+)px\)$/.exec(style.clip);
  const none = edges && /absolute|fixed/.test(position) && (edges[2] - edges[4] <= 1 || edges[3] - edges[1] <= 1);
  const ground = style.backgroundColor, opaque = alpha(ground);
  return {
    opacity: outer.opacity * Number(style.opacity), fixed: outer.fixed || position === 'fixed',
    clipped: outer.clipped || Boolean(none) || CLIPPED.test(style.clipPath),
    clips: cuts ? [...outer.clips.slice(-3), boxOf(e)] : outer.clips,
    ground: style.backgroundImage !== 'none' ? '' : opaque > .9 ? ground : opaque > .05 ? '' : outer.ground,
    quiet: outer.quiet || named(e, 'aria-hidden') === 'true',
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
  return r.right + scrollX <= 0 || r.bottom + scrollY <= 0
    || r.left + scrollX >= Math.max(root.scrollWidth, innerWidth) || r.top + scrollY >= Math.max(root.scrollHeight, innerHeight);
};
const misses = (r, box) => Math.min(r.right, box.right) - Math.max(r.left, box.left) <= 1
  || Math.min(r.bottom, box.bottom) - Math.max(r.top, box.top) <= 1;
const whyHidden = node => {
  const e = above(node);
  if (!e || nameOf(e) === 'option') return '';  // a list shows it once it is opened
  if (!seen(e)) return 'display';
  const style = getComputedStyle(e), state = stateOf(e);
  if (style.visibility !== 'visible') return 'visibility';
  if (state.opacity < .05) return 'opacity';
  if (parseFloat(style.fontSize) < 3) return 'size';
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()];
  if (boxes.every(r => r.width < 1 || r.height < 2)) return 'size';
  if (boxes.every(r => outside(r, state))) return 'place';
  if (state.clipped || boxes.every(r => state.clips.some(box => misses(r, box)))) return 'clip';
  const colour = style.webkitTextFillColor || style.color;
  if (alpha(colour) < .05 || (state.ground && alike(colour, state.ground) && style.textShadow === 'none')) return 'colour';
  return state.quiet ? 'tree' : '';
};
const reasons = new Map();
const reasonOf = place => {
  if (!reasons.has(place)) reasons.set(place, whyHidden(items[place]));
  return reasons.get(place);
};
// Texts hidden in the same way before and after such a text are read with it: a sentence can be spread over elements.
const kept = new Map();
const around = function* (place, why) {
  for (const way of [-1, 1]) {
    let chars = 0, at = place + way;
    for (let looked = 0; chars < NEAR && looked < 100 && at >= 0 && at < items.length; at += way) {
      if (Array.isArray(items[at])) continue;
      looked++;
      const reason = reasonOf(at);
      if (reason === why) { chars += dataOf(items[at]).length; kept.set(at, why); }
      else if (reason) break;
      yield;
    }
  }
};
const found = [];
const add = (why, at, text) => {
  text = text.slice(0, 8 * EACH).replace(/\s+/g, ' ').trim().slice(0, EACH);
  if (left <= 0 || found.length >= TEXTS) { whole = false; return; }
  const last = found[found.length - 1];
  left -= text.length;
  // Texts of neighbouring elements that are hidden in the same way are joined.
  if (!at && last && last[0] === why && !last[1] && last[2].length + text.length < EACH) last[2] += ' ' + text;
  else found.push([why, at, text]);
};
const began = performance.now();
const late = share => performance.now() - began > share * MILLISECONDS;
const work = function* () {
  // Keep time to judge the texts found so far: an endless page must not keep its first words from being read.
  for (let n = 0; pending.length && whole; yield) { walk(); if (n++ % 64 === 63 && late(.6)) whole = false; }
  for (const place of wanted) {
    const why = reasonOf(place);
    if (why && dataOf(items[place]).length > EACH) {
      kept.set(place, '');
      other(why, '', dataOf(items[place]));
    } else if (why) { kept.set(place, why); yield* around(place, why); }
    yield;
  }
};
return (async () => {
  const steps = work();
  let pause = began + SLICE;
  for (let n = 0; !steps.next().done; n++) {
    if (n % 8) continue;
    if (late(1)) { whole = false; break; }
    // The page continues in between.
    if (performance.now() > pause) { await new Promise(go => setTimeout(go)); pause = performance.now() + SLICE; }
  }
  items.forEach((item, place) => Array.isArray(item) ? add(...item) : kept.get(place) && add(kept.get(place), '', dataOf(item)));
  return JSON.stringify({whole, found: found.filter(one => one[2].length >= 12)});
})();
"""


def _needed() -> tuple[str, str]:
    """For each word that a rule needs, its longest part without a space, as two expressions: one for parts that may be inside a
    word, and one for parts at the edge of a word. A text can be spread over elements, and each of them is searched by itself.
    """
    inner, edged = set[str](), set[str]()
    for word in needed_words():
        parts = word.split(" ")
        place = max(range(len(parts)), key=lambda place: len(parts[place]))
        before, after = place > 0, place + 1 < len(parts)
        if len(parts[place]) > _UNIQUE_CHARS_MIN or not (before or after):
            inner.add(parts[place])
        else:
            edged.add(f"{'(?<![^ ])' * before}{re.escape(parts[place])}{'(?![^ ])' * after}")
    # A part that contains another one is found with that; in sorted order, a search tries parts with a common beginning together.
    shortest = sorted(one for one in inner if not any(other != one and other in one for other in inner))
    return "|".join(map(re.escape, shortest)), "|".join(sorted(edged))


_WORDS, _EDGED = _needed()
_BOUNDS: Final = (
    f"const MILLISECONDS = {limits.HIDDEN_TEXT_MS}, SLICE = {limits.HIDDEN_TEXT_SLICE_MS}, CHARS = {limits.HIDDEN_TEXTS_CHARS_MAX},"
    f" EACH = {limits.HIDDEN_TEXT_CHARS_MAX}, TEXTS = {limits.HIDDEN_TEXTS_MAX}, NEAR = {limits.HIDDEN_KEPT_CHARS_MAX};"
    f"const WORDS = new RegExp({json.dumps(_WORDS)}), EDGED = new RegExp({json.dumps(_EDGED)});"
)
HIDDEN_TEXT: Final = f"(() => {{{_BOUNDS}{_READ}}})()"
"""A promise of the hidden texts of a document that may address a model, ``[why, at, text]`` each, and True if it was read to
its end, as JSON. It runs in an isolated world.
"""


def hidden_texts(answers: Sequence[Any], mask: Mask, *, whole: bool) -> HiddenTexts:
    """The hidden texts found in the frames, without secrets. answers: one per frame, as JSON. whole: True if all frames
    answered."""
    read = [loads(answer) for answer in answers]
    found = [
        {"why": why, "at": at[: limits.HIDDEN_AT_CHARS_MAX], "text": mask(text)}
        for each in read
        for why, at, text in each["found"]
    ]
    for one in found:
        one["text"] = one["text"][: limits.HIDDEN_TEXT_CHARS_MAX]
    return HiddenTexts(
        texts=msgspec.convert(found[: limits.HIDDEN_TEXTS_MAX], tuple[HiddenText, ...]),
        whole=whole and all(each["whole"] for each in read) and len(found) <= limits.HIDDEN_TEXTS_MAX,
    )
