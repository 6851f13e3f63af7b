"""Explains why an element cannot be seen or used: its own state, the state of an element around it, or an element on top of it.

The script runs in pages, under the rules of ``adapters/browser/observing/scripts.py``.
"""

from __future__ import annotations

from typing import Any, Final

from adapters.browser.base.text import well_formed

_SAID_MAX: Final = 3
_WORDS: Final = {
    "display": ("is not displayed (display: none)", "is not displayed (display: none)"),
    "closed": ("is in what is closed", "is closed"),
    "visibility": ("is not visible (visibility: hidden)", "is not visible (visibility: hidden)"),
    "size": ("has no size", "shows nothing of it (clipped)"),
    "outside": ("lies outside of the window, where nothing scrolls to", "keeps it outside of the window"),
    "disabled": ("is disabled", "is disabled"),
    "aria-disabled": ("says that it is disabled (aria-disabled)", "says that it is disabled (aria-disabled)"),
    "readonly": ("is read only", "is read only"),
    "inert": ("is inert", "is inert"),
    "modal": ("", "is open, and nothing outside of it takes any input"),
    "pointer": ("takes no clicks (pointer-events: none)", "takes no clicks (pointer-events: none)"),
    "covered": ("", "covers it"),
    "moving": ("does not stop moving", "does not stop moving"),
}
"""For each hindrance, the words about the element itself, and those about an element around or above it."""

HINDRANCES: Final = r"""async e => {
const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
const attribute = (e, n) => Element.prototype.getAttribute.call(e, n) || '';
const matches = (e, selector) => Element.prototype.matches.call(e, selector);
const root = e => getter(Element.prototype, 'shadowRoot').call(e);
const box = e => Element.prototype.getBoundingClientRect.call(e);
const above = e => getter(Element.prototype, 'assignedSlot').call(e) || getter(Node.prototype, 'parentElement').call(e)
  || (Node.prototype.getRootNode.call(e) instanceof ShadowRoot ? Node.prototype.getRootNode.call(e).host : null);
const chain = e => { const all = []; for (; e; e = above(e)) all.push(e); return all; };
const ROLES = {a: 'link', button: 'button', dialog: 'dialog', nav: 'navigation', header: 'banner', footer: 'contentinfo',
  fieldset: 'group', select: 'list', textarea: 'text box', input: 'field', img: 'picture', iframe: 'frame', h1: 'heading',
  h2: 'heading', h3: 'heading', form: 'form', details: 'details', table: 'table', aside: 'complementary', main: 'main'};
const said = e => {
  const tag = e.tagName.toLowerCase(), role = attribute(e, 'role').split(' ')[0] || ROLES[tag] || '';
  const legend = tag === 'fieldset' || tag === 'details' ? Element.prototype.querySelector.call(e, 'legend,summary') : null;
  // The text of a mere box would be that of all elements in it.
  const text = attribute(e, 'aria-label') || attribute(e, 'alt') || attribute(e, 'title')
    || (legend || role ? (legend || e).textContent.replace(/\s+/g, ' ').trim().slice(0, 60) : '');
  const id = attribute(e, 'id'), style = attribute(e, 'class').split(/\s+/)[0];
  const mark = id ? '#' + id : style ? '.' + style : '';
  return [(role || tag + mark).slice(0, 60), text.slice(0, 60)];
};
const holder = (of, by) => by === of ? ['', ''] : said(by);
const style = (e, name) => getComputedStyle(e)[name];
const unseen = e => {
  const all = chain(e), none = all.findLast(one => style(one, 'display') === 'none');
  const shut = all.find(one => one instanceof HTMLDetailsElement && !getter(HTMLDetailsElement.prototype, 'open').call(one)
    && one !== e && !all.some(inner => inner.tagName === 'SUMMARY' && above(inner) === one));
  if (shut) return ['closed', shut];
  if (none) return ['display', none];
  const vanished = one => style(one, 'visibility') !== 'visible';
  if (vanished(e)) {
    let by = e;
    for (const one of all) if (vanished(one)) by = one; else break;
    return ['visibility', by];
  }
  const rect = box(e);
  if (!rect.width || !rect.height) return ['size', e];
  return null;
};
const disabled = e => {
  const control = chain(e).find(one => matches(one, 'button,[role=button],a,[role=link],input,select,textarea,option')) || e;
  for (const one of new Set([e, control]))
    if (matches(one, ':disabled')) {
      const around = chain(one).slice(1).find(outer => matches(outer, 'fieldset[disabled],optgroup[disabled],select[disabled]'));
      const by = Element.prototype.hasAttribute.call(one, 'disabled') ? one : around || one;
      return ['disabled', by === control ? e : by];
    }
  const by = chain(e).find(one => attribute(one, 'aria-disabled').toLowerCase() === 'true');
  return by ? ['aria-disabled', by] : null;
};
const held = e => {
  const all = chain(e), inert = all.find(one => Element.prototype.hasAttribute.call(one, 'inert'));
  if (inert) return ['inert', inert];
  const modal = [...document.querySelectorAll('dialog:modal')].pop();
  return modal && !all.includes(modal) ? ['modal', modal] : null;
};
const point = e => {
  const r = [...Element.prototype.getClientRects.call(e)].find(r => r.width && r.height) || box(e);
  const cut = (a, b, end) => (Math.max(a, 0) + Math.min(b, end)) / 2;
  if (r.right <= 0 || r.bottom <= 0 || r.left >= innerWidth || r.top >= innerHeight) return null;
  return [cut(r.left, r.right, innerWidth), cut(r.top, r.bottom, innerHeight)];
};
const hitAt = (x, y) => {
  let hit = Document.prototype.elementFromPoint.call(document, x, y);
  for (let inner = hit; inner && root(inner); ) {
    inner = ShadowRoot.prototype.elementFromPoint.call(root(inner), x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
};
const covered = e => {
  const at = point(e), all = chain(e);
  if (!at) return ['outside', e];
  const hit = hitAt(...at);
  const label = hit && chain(hit).find(one => one instanceof HTMLLabelElement);
  if (hit && (chain(hit).includes(e) || (label && getter(HTMLLabelElement.prototype, 'control').call(label) === e))) return null;
  const still = all.find(one => style(one, 'pointerEvents') === 'none');
  if (still && style(e, 'pointerEvents') === 'none') {
    let by = e;
    for (const one of all) if (style(one, 'pointerEvents') === 'none') by = one; else break;
    return ['pointer', by];
  }
  const clip = all.slice(1).find(one => {
    const r = box(one);
    return /hidden|clip|auto|scroll/.test(style(one, 'overflow')) && one !== document.body && one !== document.documentElement
      && (at[0] < r.left || at[0] > r.right || at[1] < r.top || at[1] > r.bottom);
  });
  if (clip) return ['size', clip];
  if (!hit) return ['outside', e];
  const over = chain(hit).filter(one => !all.includes(one));
  if (!over.length) return null;
  return ['covered', over.find(one => attribute(one, 'role') || ROLES[one.tagName.toLowerCase()]) || over[over.length - 1]];
};
const frames = () => {
  for (let w = window; w !== w.parent; w = w.parent) {
    let frame = null;
    try { frame = w.frameElement; } catch (_) {}
    if (!frame) return null;
    const outer = frame.ownerDocument.defaultView, r = box(frame), x = r.left + r.width / 2, y = r.top + r.height / 2;
    const hit = outer.document.elementFromPoint(x, y);
    if (hit && hit !== frame && !chain(hit).includes(frame)) return ['covered', hit];
  }
  return null;
};
const moves = async e => {
  const places = [];
  for (let i = 0; i < 4; i++) {
    const r = box(e);
    places.push([r.left, r.top, r.width, r.height].map(Math.round).join());
    await new Promise(done => setTimeout(done, 40));
  }
  return new Set(places).size > 1 ? ['moving', e] : null;
};
const none = unseen(e);
if (none) return [[none[0], ...holder(e, none[1])]];
const moving = await moves(e);
if (!moving) e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
const fixed = matches(e, 'input[readonly],textarea[readonly]') || attribute(e, 'aria-readonly') === 'true';
const readonly = fixed ? ['readonly', e] : null;
return [disabled(e), READS_ONLY && readonly, held(e), covered(e) || frames(), moving].filter(Boolean)
  .map(([kind, by]) => [kind, ...holder(e, by)]);
}"""


def hindrances(*, writes: bool) -> str:
    """The function that lists the hindrances of an element: for each its kind, and role and name of the element around or above it.

    writes: text is to be written into it.
    """
    return HINDRANCES.replace("READS_ONLY", "true" if writes else "false", 1)


def in_words(found: Any) -> str:
    """The hindrances in ``found``, as the end of a sentence about the element; empty for none."""
    said = []
    for one in found if isinstance(found, list) else ():
        kind, role, name = (well_formed(str(part)) for part in one)
        own, other = _WORDS[kind]
        around = "" if kind in ("covered", "modal") else " around it"
        said.append(f"the {role}{f' “{name}”' if name else ''}{around} {other}" if role else f"it {own}")
    return ", and ".join(said[:_SAID_MAX])
