"""JavaScript about labels: finds the hidden control of a label, and the point at which a label is pressed.

A page often hides a box, a choice or a file field and shows its label in its place. Such a control has no Playwright ref, because
a snapshot contains only visible elements. Here it gets a ref from a range that Playwright does not use.
"""

from __future__ import annotations

from typing import Final

from adapters.browser.base.dom import DOM

FIRST_REF: Final = 9_000_000
"""Playwright counts its refs from 1."""
CONTROL: Final = "trailmesh-control"
"""Selector engine: the control with a ref; without a ref, the control of the label around the element."""
HIDDEN: Final = "trailmesh-hidden"
"""Selector engine: all hidden controls that labels stand for. It gives them refs, starting at the given one."""
LABEL: Final = "trailmesh-label"
"""Selector engine: the element to press in place of the control."""

_LABELS: Final = r"""
const labelled = getter(HTMLLabelElement.prototype, 'control');
const outer = e => getter(Element.prototype, 'assignedSlot').call(e) || getter(Node.prototype, 'parentElement').call(e)
  || (Node.prototype.getRootNode.call(e) instanceof ShadowRoot ? Node.prototype.getRootNode.call(e).host : null);
const within = (e, selector) => Element.prototype.querySelectorAll.call(e, selector);
// Controls that a click on their label activates. For a hidden field or list such a click would at most move the focus.
const LABELLED = 'input[type=checkbox],input[type=radio],input[type=file],input[type=submit],input[type=button],'
  + 'input[type=reset],input[type=image],button';
const acts = e => Element.prototype.matches.call(e, LABELLED);
const labelsOf = tree => {
  // For all controls at once: asking each for its labels would walk through the document each time.
  const found = new Map();
  for (const label of all(tree, 'label')) {
    const control = labelled.call(label);
    if (control) found.set(control, [...found.get(control) || [], label]);
  }
  return found;
};
const boxes = e => [...Element.prototype.getClientRects.call(e)];
const pressable = e => Element.prototype.checkVisibility.call(e, {visibilityProperty: true})
  && getComputedStyle(e).pointerEvents !== 'none';
// The rule by which Playwright's snapshot gives refs.
const isShown = e => {
  const box = Element.prototype.getBoundingClientRect.call(e);
  return box.width > 0 && box.height > 0 && pressable(e);
};
const isSeen = e => {
  if (!Element.prototype.checkVisibility.call(e, {opacityProperty: true})) return false;
  const parts = [e, ...Array.prototype.slice.call(within(e, '*'), 0, 50)];
  return parts.some(each => pressable(each)
    && boxes(each).some(r => r.width > 1 && r.height > 1 && r.right + scrollX > 0 && r.bottom + scrollY > 0));
};
"""

_AREAS: Final = r"""
// The picture that shows an area of an image map.
const pictureOf = area => {
  const map = Element.prototype.closest.call(area, 'map'), name = map && attribute(map, 'name');
  const pictures = name ? all(Node.prototype.getRootNode.call(area), 'img[usemap],object[usemap]') : [];
  return Array.prototype.find.call(pictures, e => attribute(e, 'usemap') === `#${name}` && isShown(e));
};
"""

STANDING: Final = (
    _LABELS
    + _AREAS
    + r"""
// The text of an element as a browser computes names: its shown text, and the alternative texts of its pictures.
const textOf = (e, control) => {
  if (e === control || e instanceof HTMLInputElement || e instanceof HTMLSelectElement) return '';
  const style = getComputedStyle(e);
  if (style.display === 'none' || style.visibility !== 'visible') return '';
  const named = attribute(e, 'aria-label').trim() || (e instanceof HTMLImageElement ? attribute(e, 'alt').trim() : '');
  if (named) return ` ${named} `;
  const before = /^"(.*)"$/.exec(getComputedStyle(e, '::before').content);
  const given = e instanceof HTMLSlotElement ? e.assignedNodes({flatten: true}) : [];
  const inner = given.length ? given : prop(prop(e, 'shadowRoot') || e, 'childNodes');
  const parts = Array.prototype.map.call(inner, each => prop(each, 'nodeType') === 3 ? each.nodeValue
    : each instanceof SVGElement ? (each.querySelector('title') || {}).textContent || ''
    : prop(each, 'nodeType') === 1 ? textOf(each, control) : '');
  const text = (before ? before[1] : '') + parts.join('');
  const said = text.trim() ? text : attribute(e, 'title');
  return style.display === 'inline' ? said : ` ${said} `;
};
const folded = text => text.replace(/\s+/g, ' ').trim().slice(0, 400);
const byId = (e, id) => id && invoke(Node.prototype.getRootNode.call(e), 'getElementById', id);
const nameOf = (e, said) => {
  const others = attribute(e, 'aria-labelledby').split(/\s+/).map(id => byId(e, id)).filter(Boolean);
  return folded(others.map(other => textOf(other, e)).join(' ')) || folded(attribute(e, 'aria-label')) || said
    || folded(attribute(e, 'title'));
};
const TYPES = {checkbox: 'checkbox', radio: 'radio'};
const roleOf = e => {
  const stated = attribute(e, 'role').trim().split(/\s+/)[0].toLowerCase();
  return ['checkbox', 'radio', 'switch', 'button', 'menuitemcheckbox', 'menuitemradio'].includes(stated) ? stated
    : TYPES[attribute(e, 'type').toLowerCase()] || 'button';
};
const statesOf = e => {
  const input = e instanceof HTMLInputElement, own = name => input && getter(HTMLInputElement.prototype, name).call(e);
  const found = {};
  if (own('indeterminate')) found.checked = 'mixed'; else if (own('checked')) found.checked = '';
  if (Element.prototype.matches.call(e, ':disabled')) found.disabled = '';
  return found;
};
const refOf = e => e._ariaRef ? e._ariaRef.ref : '';
const number = ref => Number(ref.slice(ref.lastIndexOf('e') + 1)), prefixOf = ref => ref.slice(0, ref.lastIndexOf('e'));
let marked = null;
const anyMarked = () => marked = marked || Array.prototype.find.call(all(document, '*'),
  e => e._ariaRef && number(refOf(e)) < FIRST_REF);
// Refs of the elements around an element, from the inside out; the last one can be that of its frame.
const around = e => {
  const refs = [], frame = getter(window, 'frameElement').call(window);
  for (let each = outer(e); each; each = outer(each)) if (each._ariaRef) refs.push(refOf(each));
  const holder = frame && frame._ariaRef ? refOf(frame) : '', inner = refs[0] || refOf(anyMarked() || {});
  const prefix = inner ? prefixOf(inner) : holder && `h${holder}`;
  const known = Boolean(inner || holder) || window === window.parent;
  return {refs: [...refs.slice(0, 32), holder].filter(Boolean), prefix, known};
};
const mark = (e, role, name, prefix) => {
  const known = e._ariaRef;
  const fits = known && known.role === role && known.name === name;
  if (!fits || number(known.ref) < FIRST_REF || prefixOf(known.ref) !== prefix) {
    globalThis.__trailmesh_refs = (globalThis.__trailmesh_refs || FIRST_REF) + 1;
    e._ariaRef = {role, name, ref: `${prefix}e${globalThis.__trailmesh_refs}`};
  }
  return e._ariaRef.ref;
};
// A hidden control that labels stand for: [ref, role, name, states, text of the labels, refs around, refs in the label].
const standing = (e, labels) => {
  if (!acts(e) || isShown(e)) return null;
  const seen = labels.filter(isSeen);
  if (!seen.length) return null;
  const textsOf = each => folded(each.map(label => textOf(label, e)).join(' '));
  const said = textsOf(seen), role = roleOf(e), name = nameOf(e, textsOf(labels));
  // A label with the role of such a control is in the snapshot itself.
  if (seen.some(label => attribute(label, 'role') === role)) return null;
  const outside = around(seen[0]);
  if (!outside.known) return null;
  const parts = [seen[0], ...Array.prototype.slice.call(within(seen[0], '*'), 0, 50)].map(refOf).filter(Boolean);
  return [mark(e, role, name, outside.prefix), role, name, statesOf(e), said, outside.refs, parts.slice(0, 8)];
};
// An area of an image map with an address: no snapshot lists it.
const standingArea = e => {
  const picture = e instanceof HTMLAreaElement && attribute(e, 'href') && pictureOf(e);
  const outside = picture && around(picture);
  if (!outside || !outside.known) return null;
  const name = folded(attribute(e, 'aria-label')) || folded(attribute(e, 'alt')) || folded(attribute(e, 'title'));
  return [mark(e, 'link', name, outside.prefix), 'link', name, {}, name, outside.refs, [refOf(picture)].filter(Boolean)];
};
""".replace("FIRST_REF", str(FIRST_REF))
)
"""``standing`` of a control and its labels, ``standingArea``, and ``labelsOf``, for ``scripts.FACTS``."""

_GETTERS: Final = (
    DOM
    + r"""
const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
const closest = (e, selector) => Element.prototype.closest.call(e, selector);
const attribute = (e, n) => Element.prototype.getAttribute.call(e, n) || '';
"""
)

PRESSED: Final = (
    "e => {"
    + _GETTERS
    + _LABELS
    + _AREAS
    + r"""
const root = e => getter(Element.prototype, 'shadowRoot').call(e);
const INNER = 'a[href],button,input,select,textarea,summary,iframe,object,embed,audio[controls],video[controls],label,'
  + '[role=button],[role=link]';
// The walk also leaves shadow trees, and passes through slots.
const upTo = (e, is) => { while (e && !is(e)) e = outer(e); return e; };
const hitAt = (x, y) => {
  let hit = Document.prototype.elementFromPoint.call(document, x, y);
  for (let inner = hit; inner && root(inner); hit = inner) {
    inner = ShadowRoot.prototype.elementFromPoint.call(root(inner), x, y);
    if (!inner || inner === hit) break;
  }
  return hit;
};
const inView = r => ({l: Math.max(r.left, 0), t: Math.max(r.top, 0),
  r: Math.min(r.right, innerWidth), b: Math.min(r.bottom, innerHeight)});
const PARTS = [[.5, .5], [.1, .5], [.9, .5], [.25, .5], [.75, .5], [.5, .1], [.5, .9], [.02, .5], [.98, .5], [.02, .1], [.98, .9]];
const parts = r => PARTS.map(([x, y]) => [r.l + (r.r - r.l) * x, r.t + (r.b - r.t) * y]);
const points = e => boxes(e).map(inView).filter(r => r.r > r.l && r.b > r.t).flatMap(parts);
const bring = e => Element.prototype.scrollIntoViewIfNeeded.call(e, true);
// In the page's own world, which is used for unreachable frames, nothing is left behind.
if (globalThis.__trailmesh_world) globalThis.__trailmesh_pressed = null;
if (e instanceof HTMLAreaElement) {
  const picture = pictureOf(e);
  if (!picture) return {way: ''};
  bring(picture);
  const box = Element.prototype.getBoundingClientRect.call(picture), style = getComputedStyle(picture);
  const at = parts({l: 0, t: 0, r: box.width, b: box.height});
  const numbers = attribute(e, 'coords').split(/[\s,]+/).map(Number), [x, y] = numbers;
  const across = numbers.filter((_, place) => place % 2 === 0), down = numbers.filter((_, place) => place % 2);
  const own = numbers.length === 3 ? [[x, y]] : numbers.length > 3
    ? parts({l: Math.min(...across), t: Math.min(...down), r: Math.max(...across), b: Math.max(...down)}) : [];
  const inset = [parseFloat(style.borderLeftWidth) + parseFloat(style.paddingLeft),
    parseFloat(style.borderTopWidth) + parseFloat(style.paddingTop)];
  for (const [left, top] of [...own.map(([x, y]) => [x + inset[0], y + inset[1]]), ...at])
    if (hitAt(box.left + left, box.top + top) === e) {
      globalThis.__trailmesh_pressed = {control: e, hit: picture};
      return {way: 'area', x: left - parseFloat(style.borderLeftWidth), y: top - parseFloat(style.borderTopWidth)};
    }
  return {way: 'covered'};
}
if (isShown(e)) {
  bring(e);
  const [first] = points(e);
  if (first && hitAt(...first) === e) return {way: 'own'};
}
let way = '';
const labels = labelsOf(Node.prototype.getRootNode.call(e)).get(e) || [];
for (const label of labels.filter(isSeen)) {
  bring(label);
  way = way || 'covered';
  for (const part of [label, ...Array.prototype.slice.call(within(label, '*'), 0, 50)])
    for (const [x, y] of points(part)) {
      const hit = hitAt(x, y), control = hit && upTo(hit, each => Element.prototype.matches.call(each, INNER));
      if (control && control !== label && control !== e && upTo(control, each => each === label)) way = 'inner';
      if (!hit || (control !== label && hit !== e)) continue;
      if (globalThis.__trailmesh_world) globalThis.__trailmesh_pressed = {control: e, hit};
      const box = Element.prototype.getBoundingClientRect.call(hit), style = getComputedStyle(hit);
      return {way: 'label', x: x - box.left - parseInt(style.borderLeftWidth), y: y - box.top - parseInt(style.borderTopWidth)};
    }
}
return {way};
}"""
)
"""The way to press a control. ``own``: directly; ``label``: on the element that ``LABEL`` then finds, at a point that belongs to
no other control in the label; ``area``: at its point in the picture; ``inner``: its label contains only other controls;
``covered``: another element is above its label; empty: it has no visible label.
"""

FILES: Final = "e => e instanceof HTMLInputElement && e.type === 'file'"
"""True if an element is a file field: styled buttons open hidden ones."""

_ENGINE: Final = r"""(() => {
GETTERS
LABELS
const search = (tree, ref) => {
  for (const e of all(tree, '*')) {
    if (e._ariaRef && e._ariaRef.ref === ref) return e;
    const inner = prop(e, 'shadowRoot'), found = inner && search(inner, ref);
    if (found) return found;
  }
  return null;
};
FIND
return {query: (root, text) => every(root, text)[0] || null, queryAll: every};
})()"""

_CONTROL: Final = r"""
const find = (root, ref) => {
  if (ref) return search(document, ref);
  const around = root instanceof Element && closest(root, 'label,a[href],button,input,select,textarea,summary');
  return around instanceof HTMLLabelElement ? labelled.call(around) : null;
};
"""

_PRESSED_LABEL: Final = r"""
const find = control => {
  const kept = globalThis.__trailmesh_pressed;
  if (kept && kept.control === control && kept.hit.isConnected) return kept.hit;
  return (labelsOf(Node.prototype.getRootNode.call(control)).get(control) || []).find(isSeen) || null;
};
"""

_ALL_HIDDEN: Final = r"""
const hidden = tree => {
  const labels = labelsOf(tree), found = [];
  for (const e of all(tree, '*')) {
    if (labels.has(e) && acts(e) && !isShown(e) && labels.get(e).some(isSeen)) found.push(e);
    const inner = prop(e, 'shadowRoot');
    if (inner) found.push(...hidden(inner));
  }
  return found;
};
const every = (_, first) => {
  const at = first.lastIndexOf('e') + 1, number = Number(first.slice(at));
  const found = hidden(document);
  found.forEach((e, index) => { e._ariaRef = {role: '', name: '', ref: first.slice(0, at) + (number + index)}; });
  return found;
};
"""

_ONE: Final = "const every = (root, text) => [find(root, text)].filter(Boolean);"

ENGINES: Final = {
    name: _ENGINE.replace("GETTERS", _GETTERS).replace("LABELS", _LABELS).replace("FIND", find)
    for name, find in ((CONTROL, _CONTROL + _ONE), (LABEL, _PRESSED_LABEL + _ONE), (HIDDEN, _ALL_HIDDEN))
}
"""Selector engines for Playwright, by name. They run where the refs are, in Playwright's isolated world."""
