"""JavaScript that runs in pages, in an isolated world, where the page cannot replace built-ins.

A page *can* still clobber the DOM there (``<input name=method>`` hides ``form.method``). So properties of anything that may be
a form or the document are read by ``dom.DOM``, or through the prototypes' getters.
"""

from __future__ import annotations

from typing import Final

from adapters.browser.base.dom import DOM
from adapters.browser.observing.label_scripts import STANDING

_TRAITS: Final = (
    DOM
    + r"""
const attribute = (e, n) => Element.prototype.getAttribute.call(e, n) || '';
const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
const formOf = e => {
  for (const kind of [HTMLButtonElement, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement])
    if (e instanceof kind) return getter(kind.prototype, 'form').call(e);
  return Element.prototype.closest.call(e, 'form');
};
const isPassword = e =>
  e instanceof HTMLInputElement && getter(HTMLInputElement.prototype, 'type').call(e) === 'password';
const fileName = src => src.startsWith('data:') ? '' : src.split(/[?#]/)[0].split('/').pop().slice(0, 60);
// Utility classes (``hover:bg-red-500/50``, ``peer-hover/menu-button``) describe how and when something is painted.
const classes = e => attribute(e, 'class').split(/\s+/).filter(name => !/[:/[]/.test(name)).join(' ');
const icons = e => {
  const found = [];
  const parts = Element.prototype.querySelectorAll.call(e, 'i,svg,use,img,span[class],path');
  for (const i of Array.prototype.slice.call(parts, 0, 8))
    found.push(classes(i), attribute(i, 'data-icon'), attribute(i, 'title'),
      (attribute(i, 'href') || attribute(i, 'xlink:href')).split('#')[1] || '',
      i instanceof HTMLImageElement ? fileName(attribute(i, 'src')) : '');
  return found;
};
const tokens = e => {
  // The most telling words stand first: the list is cut, and a button can have more classes than it holds.
  const raw = [attribute(e, 'data-action'), attribute(e, 'data-icon'), attribute(e, 'formaction'), attribute(e, 'name'),
    attribute(e, 'id'), attribute(e, 'title'),
    ['INPUT', 'SELECT', 'TEXTAREA'].includes(prop(e, 'tagName')) ? '' : icons(e).join(' '), classes(e)].join(' ');
  const words = raw.slice(0, 2000).replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z0-9]+/);
  const kept = words.filter(w => w.length > 1 && w.length < 25 && (!/\d/.test(w) || /^(2fa|mfa2)$/.test(w)));
  return [...new Set(kept)].slice(0, 24);
};
const action = (form, own) => {
  const value = own || attribute(form, 'action');
  try {
    const url = new URL(value || prop(document, 'URL'), prop(document, 'baseURI'));
    return /^https?:$/.test(url.protocol) ? url.pathname : '';
  } catch (_) { return ''; }
};
// The effect of inline handlers when ``e`` changes or opens. Listeners that scripts add are not visible in a document.
const SUBMITS = /^\s*(javascript:)?\s*(return\s+)?(this\.form\.|form\.|this\.)(request)?submit\(\s*\)\s*;?\s*$/i;
const reacts = (e, form) => {
  const tag = prop(e, 'tagName'), opens = tag === 'SUMMARY';
  if (!opens && !['INPUT', 'SELECT', 'TEXTAREA'].includes(tag) && !prop(e, 'isContentEditable')) return '';
  const box = /^(checkbox|radio)$/i.test(attribute(e, 'type'));
  const own = opens || box ? ['onclick', 'onchange', 'oninput'] : ['onchange', 'oninput'];
  const around = opens ? getter(Node.prototype, 'parentElement').call(e) : form;
  const others = around ? opens ? ['onclick', 'ontoggle'] : ['onchange', 'oninput'] : [];
  const found = [...own.map(n => attribute(e, n)), ...others.map(n => attribute(around, n))].filter(v => v.trim());
  return !found.length ? '' : form && found.every(v => SUBMITS.test(v)) ? 'submit' : 'script';
};
// FNV-1a of the inline handlers of a press, without their numbers: it distinguishes controls, but is no text of the page.
const handler = (e, form) => {
  const own = ['onclick', 'onmousedown', 'onpointerdown'].map(n => attribute(e, n).slice(0, 2000));
  const text = [...own, form ? attribute(form, 'onsubmit').slice(0, 2000) : ''].join('\n');
  let hash = 0x811c9dc5;
  for (const c of text.replace(/[0-9]+/g, '#').replace(/\s+/g, ' '))
    hash = Math.imul(hash ^ c.codePointAt(0), 0x01000193) >>> 0;
  return text.trim() ? hash.toString(16).padStart(8, '0') : '';
};
// A hidden field against forged requests: a form with one is meant to change something, even if it sends by GET.
const FORGERY = new RegExp([
  '^(_?csrf|xsrf|_token|_?wpnonce|sesskey|form_?(key|token)|sectok|authenticity_?token|__requestverificationtoken)',
  '(csrf|xsrf)[-_]?(middleware)?token$',
].join('|'), 'i');
const judged = new Map();
const guarded = form => {
  if (!judged.has(form)) {
    const hidden = Array.prototype.slice.call(Element.prototype.querySelectorAll.call(form, 'input[type=hidden]'), 0, 64);
    judged.set(form, hidden.some(e => FORGERY.test(attribute(e, 'name')) && attribute(e, 'value').length > 3));
  }
  return judged.get(form);
};
const traits = (e, labels = []) => {
  const tag = prop(e, 'tagName').toLowerCase();
  const form = formOf(e);
  const type = attribute(e, 'type').toLowerCase();
  const kind = isPassword(e) ? 'password' : type;
  let method = '', path = '', submits = false;
  if (form) {
    submits = tag === 'button' ? type !== 'button' && type !== 'reset'
      : tag === 'input' && (type === 'submit' || type === 'image');
    const own = submits ? attribute(e, 'formmethod') : '';
    const ownAction = submits ? attribute(e, 'formaction') : '';
    const asked = (own || attribute(form, 'method')).toLowerCase();
    method = ['get', 'post', 'dialog'].includes(asked) ? asked : 'get';
    // An empty address or “#” counts as none: a script sends such forms.
    const stated = !/^\s*(#|$)/.test(attribute(form, 'action'));
    const explicit = own || ownAction || attribute(form, 'method') || stated;
    path = explicit ? action(form, ownAction) : '';
  }
  const named = ['id', 'name', 'data-testid'].map(n => [n, attribute(e, n).slice(0, 200)]).filter(([, v]) => v);
  const opens = /^(true|menu|listbox|tree|grid|dialog)$/i.test(attribute(e, 'aria-haspopup'))
    || /^(true|false)$/i.test(attribute(e, 'aria-expanded'));
  const runs = reacts(e, form) || (labels.some(label => attribute(label, 'onclick').trim()) ? 'script' : '');
  return [tag, kind, submits, method, path, tokens(e), attribute(e, 'autocomplete').toLowerCase().slice(0, 64), named, opens,
    runs, handler(e, (submits || tag === 'input') && form), method === 'get' && guarded(form)];
};
"""
)

_GETTER: Final = "const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;"

_CLOBBERED: Final = r"""
const clobbered = () => {
  const names = ['getAttribute', 'hasAttribute', 'parentElement', 'checkVisibility', 'getBoundingClientRect',
    'ownerDocument', 'shadowRoot', 'assignedSlot', 'nodeType', 'firstChild', 'nextSibling'];
  const controls = getter(HTMLFormElement.prototype, 'elements');
  const hides = form => names.find(name => controls.call(form).namedItem(name) !== null);
  return Array.prototype.map.call(prop(document, 'forms'), hides).find(name => name) || '';
};
"""

CLOBBERED: Final = "(() => {" + DOM + _GETTER + _CLOBBERED + "return clobbered();})()"
"""The name of a form's field that hides a property which Playwright's snapshot reads from the form; empty if there is none."""

BUSY: Final = r"""
const WORKING = new RegExp('^(' + [
  '(saving|loading|updating|uploading|submitting|sending|processing|please wait)( [^.…]{0,30})?(…|\\.{3})?',
  '[^.…]{0,20}(speicher|geladen|lade|lädt|enregistr|charg|guardando|cargando|salva|carica|opslaan|zapis|сохран|загруз|保存|加载|読み込)[^.…]{0,20}(…|\\.{3})',
].join('|') + ')$', 'i');
const shown = e => Element.prototype.checkVisibility.call(e, {visibilityProperty: true, opacityProperty: true});
const isBusy = root => {
  for (const e of all(root, '[aria-busy=true],[role=status],[role=alert],[aria-live]:not([aria-live=off]),output')) {
    if (attribute(e, 'aria-busy') === 'true' ? shown(e) : prop(e, 'textContent').length < 200 &&
        WORKING.test(prop(e, 'textContent').trim()) && shown(e)) return true;
  }
  return false;
};
"""
"""True if a page says that it is at work: ``aria-busy``, or a status such as “Saving…”."""

COMING: Final = r"""
const coming = () => {
  const came = performance.getEntriesByType('navigation')[0];
  // A document that a script writes into its own window or frame comes from no site, and need not end.
  return /^http/.test(came?.name) && !came.domContentLoadedEventStart && prop(document, 'readyState') !== 'complete';
};
"""
"""True if the document of a frame came from a site but not to its end."""

FACTS: Final = (
    "(() => {"
    + _TRAITS
    + _CLOBBERED
    + BUSY
    + COMING
    + STANDING
    + r"""
let busy = false, room = 500000;
const items = [], marks = [], secrets = [], leads = [], stood = [], named = [];
const roles = new Set(ROLES), fields = new Set(['INPUT', 'TEXTAREA', 'SUMMARY']);
// Kept in this world, where the page sees neither: an element has its identity until it or its document is gone.
globalThis.__trailmesh_document ??= crypto.getRandomValues(new Uint32Array(2)).join('.');
const identity = e => e.__trailmesh_identity ??= globalThis.__trailmesh_identities = (globalThis.__trailmesh_identities ?? 0) + 1;
const visit = root => {
  busy = busy || isBusy(root);
  const labels = labelsOf(root);
  for (const e of root.querySelectorAll('*')) {
    const label = labels.get(e), stands = label ? standing(e, label) : standingArea(e);
    if (stands) stood.push(stands);
    const known = e._ariaRef;
    if (known) marks.push(known.ref, identity(e));
    if (isPassword(e)) {
      const v = getter(HTMLInputElement.prototype, 'value').call(e);
      if (v) secrets.push(v);
    }
    if (known && (roles.has(known.role) || fields.has(prop(e, 'tagName'))))
      items.push([known.ref, ...traits(e, stands && label || [])]);
    const leading = e instanceof HTMLAreaElement || (e instanceof HTMLAnchorElement && known && known.role !== 'link');
    if (known && leading && attribute(e, 'href')) {
      // A ``data:`` address holds a file and leads nowhere, so its content is left out, as in a snapshot.
      const led = prop(e, 'href').replace(/^(data:[^,]*,).*/s, '$1…');
      // A longer address is left out: if it were cut, a part of a secret could remain. Its element then counts as a button.
      if (led.length <= 4096 && led.length <= room) { leads.push([known.ref, led]); room -= led.length; }
    }
    const inner = prop(e, 'shadowRoot');
    if (inner) visit(inner);
  }
  for (const [control, list] of labels)
    for (const label of list) if (control._ariaRef && label._ariaRef) named.push([refOf(label), refOf(control)]);
};
visit(document);
globalThis.__trailmesh_world = true;
// A form with shown fields that Playwright has not looked into: one of them hides a property that Playwright reads.
const unread = form => {
  if (invoke(form, 'closest', '[aria-hidden=true],[inert]')) return '';
  const controls = Array.from(prop(form, 'elements')), shown = controls.filter(e => /^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(
    prop(e, 'tagName')) && isShown(e));
  if (!shown.length || shown.some(e => e._ariaRef)) return '';
  const names = controls.flatMap(e => [attribute(e, 'name'), attribute(e, 'id')]);
  return names.find(name => name in HTMLFormElement.prototype) || '';
};
// Playwright walks up from a pressed element by this property, and would walk in circles for ever.
const traps = Array.prototype.some.call(prop(document, 'forms'),
  form => invoke(prop(form, 'elements'), 'namedItem', 'parentNode') !== null);
const unreadable = () => clobbered() || Array.prototype.map.call(prop(document, 'forms'), unread).find(name => name) || '';
const base = prop(document, 'baseURI'), title = prop(document, 'title'), top = window.parent === window;
return JSON.stringify({base, title, top, items, marks, secrets, document: globalThis.__trailmesh_document,
  leads, stood, named, unmarked: stood.length > 0 && !anyMarked(),
  clobbered: unreadable(), traps, busy, coming: coming(), began: performance.timeOrigin, address: location.href,
  status: performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0});
})()"""
)

ONE_FACT: Final = "e => {" + _TRAITS + "return traits(e);}"
"""The traits of one element, in the page's own world: for frames whose isolated world is out of reach."""

HIDDEN_FACTS: Final = (
    "(_, found) => {"
    + _TRAITS
    + STANDING
    + r"""
const labels = new Map();
const told = e => {
  const tree = Node.prototype.getRootNode.call(e);
  if (!labels.has(tree)) labels.set(tree, labelsOf(tree));
  const own = labels.get(tree).get(e) || [], said = folded(own.filter(isSeen).map(label => textOf(label, e)).join(' '));
  return [roleOf(e), nameOf(e, said), statesOf(e), said, traits(e, own)];
};
return found.map(told);
}"""
)
"""Role, name, states, label text and traits of hidden controls, whose refs are given beside the first; for the same frames."""

PATH_TO: Final = (
    "e => {"
    + DOM
    + r"""
  const path = [];
  for (let node = e; node; ) {
    const parent = prop(node, 'parentNode');
    if (parent) path.unshift(Array.prototype.indexOf.call(prop(parent, 'childNodes'), node));
    if (parent instanceof ShadowRoot) { path.unshift(-1); node = parent.host; } else node = parent;
  }
  return path;
}"""
)

_WALK: Final = (
    "(path => {"
    + DOM
    + r"""
  let node = document;
  for (const index of path) node = node && (index < 0 ? prop(node, 'shadowRoot') : prop(node, 'childNodes')[index]);
"""
)

NODE_AT: Final = _WALK + "return node;})(PATH)"
"""The node at the end of a path from ``PATH_TO``."""

REF_AT: Final = (
    _WALK
    + r"""
  if (!node) return [];
  const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
  const said = e => e instanceof HTMLElement
    ? getter(HTMLElement.prototype, 'innerText').call(e).replace(/\s+/g, ' ').trim() : '';
  const rects = e => [...Element.prototype.getClientRects.call(e)];
  const fills = (e, control) => {
    const [first] = rects(control).filter(r => r.width && r.height);
    if (!first || said(e) !== said(control)) return false;
    const x = first.x + first.width / 2, y = first.y + first.height / 2;
    return rects(e).some(r => r.left <= x && x <= r.right && r.top <= y && y <= r.bottom);
  };
  const control = Element.prototype.closest.call(node, 'a[href],button,summary,[role=button],[role=link]');
  const fitting = control && control !== node && fills(node, control) ? [node, control] : [node];
  const above = [], host = e => prop(e, 'assignedSlot') || prop(e, 'parentElement')
    || (invoke(e, 'getRootNode') instanceof ShadowRoot ? invoke(e, 'getRootNode').host : null);
  for (let e = host(node); e; e = host(e)) {
    const labelled = e instanceof HTMLLabelElement && getter(HTMLLabelElement.prototype, 'control').call(e);
    above.push(labelled || e);
  }
  if (node instanceof HTMLLabelElement) above.unshift(getter(HTMLLabelElement.prototype, 'control').call(node));
  let label = node;
  while (label && !Element.prototype.matches.call(label, 'label,a[href],button,input,select,textarea,summary')) label = host(label);
  const labels = label instanceof HTMLLabelElement ? [getter(HTMLLabelElement.prototype, 'control').call(label)] : [];
  const refs = list => list.filter(e => e && e._ariaRef).map(e => e._ariaRef.ref);
  return {fitting: refs(fitting), above: refs(above), inside: Boolean(control && control !== node), labels: refs(labels)};
})(PATH)"""
)
"""The ref of the element at a path, and that of the link or button whose content it is (``fitting``). Also those of the
elements around it, or that it labels, from the inside out (``above``); True if a link or button is around it (``inside``); and
the ref of the control whose label it is, or stands in (``labels``).

An element is the content of a control if it has the control's whole text and covers the point where the control would be
clicked. Only then do clicking and reading the control have the same result as for the element itself.
"""

IN_CONTROL: Final = (
    "e => {"
    + DOM
    + "const outer = prop(e, 'parentElement');"
    + "return outer && invoke(outer, 'closest', 'a[href],button,summary,label,[role]');}"
)
"""True if a possible control is around an element; for frames whose isolated world is out of reach."""

_POINT: Final = r"""
const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
const has = (e, n) => Element.prototype.hasAttribute.call(e, n);
const attribute = (e, n) => Element.prototype.getAttribute.call(e, n) || '';
const matches = (e, selector) => Element.prototype.matches.call(e, selector);
const roles = ROLES.map(role => `[role=${role}]`).join();
const toggles = 'input[type=checkbox],input[type=radio],label';
// A click into a text field only sets the focus, so text fields do not count.
const controls = 'a[href],area[href],button,select,summary,iframe,frame,object,embed,audio[controls],video[controls],'
  + ['submit', 'image', 'button', 'reset', 'file', 'range', 'color'].map(type => `input[type=${type}]`).join()
  + ',' + toggles + ',' + roles;
const root = e => getter(Element.prototype, 'shadowRoot').call(e);
const said = e => e instanceof HTMLElement
  ? getter(HTMLElement.prototype, 'innerText').call(e).replace(/\s+/g, ' ').trim() : '';
const above = e => getter(Element.prototype, 'assignedSlot').call(e) || getter(Node.prototype, 'parentElement').call(e)
  || (Node.prototype.getRootNode.call(e) instanceof ShadowRoot ? Node.prototype.getRootNode.call(e).host : null);
const holds = e => {
  const inner = [e, ...Element.prototype.querySelectorAll.call(e, '*')];
  return inner.some(each => root(each) || (each !== e && matches(each, controls)));
};
// True if a click on `inner` has the judged effect of a click on `e`: it has the same text, and no address or form of its own.
const same = (e, inner) => {
  if (inner instanceof HTMLLabelElement) {
    const control = getter(HTMLLabelElement.prototype, 'control').call(inner);
    if (!control || control === e) return true;
  }
  if (matches(e, '[role=checkbox],[role=radio],[role=switch]') && matches(inner, toggles)) return true;
  if (has(e, 'aria-label') || has(e, 'aria-labelledby') || said(e) !== said(inner)) return false;
  if (inner instanceof HTMLAnchorElement) return attribute(inner, 'href').startsWith('#');
  return e instanceof HTMLAnchorElement && has(e, 'href') && inner instanceof HTMLButtonElement
    && !getter(HTMLButtonElement.prototype, 'form').call(inner);
};
const another = e => {
  const shown = r => ({l: Math.max(r.left, 0), t: Math.max(r.top, 0),
    r: Math.min(r.right, innerWidth), b: Math.min(r.bottom, innerHeight)});
  const [first] = [...Element.prototype.getClientRects.call(e)].map(shown)
    .filter(r => r.r > r.l && r.b > r.t && (r.r - r.l) * (r.b - r.t) > 0.99);
  if (!first) return '';
  const x = (first.l + first.r) / 2, y = (first.t + first.b) / 2;
  let hit = Document.prototype.elementFromPoint.call(document, x, y);
  for (let inner = hit; inner && root(inner); ) {
    inner = ShadowRoot.prototype.elementFromPoint.call(root(inner), x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  let found = '';
  for (; hit && hit !== e; hit = above(hit))
    if (matches(hit, controls) && !same(e, hit))
      found = attribute(hit, 'role').slice(0, 20) || getter(Element.prototype, 'tagName').call(hit).toLowerCase();
  return hit ? found : '';
};
const trapped = e => {
  for (let form = Element.prototype.closest.call(e, 'form'); form; ) {
    const controls = getter(HTMLFormElement.prototype, 'elements').call(form);
    if (controls.namedItem('parentNode') !== null) return true;
    const outer = getter(Node.prototype, 'parentElement').call(form);
    form = outer && Element.prototype.closest.call(outer, 'form');
  }
  return false;
};
const focused = e => {
  const tree = Node.prototype.getRootNode.call(e);
  const kind = tree instanceof ShadowRoot ? ShadowRoot : Document;
  return getter(kind.prototype, 'activeElement').call(tree) === e;
};
"""


def of_element(question: str, roles: str) -> str:
    """A function of an element that answers ``question``: ``holds`` (another control), ``another`` (the control that a click
    would hit; empty if none), ``focused``, ``trapped`` (True in a form with a field that keeps it from being pressed). roles:
    the roles of controls, as JSON.
    """
    return "e => {" + _POINT.replace("ROLES", roles, 1) + f"return {question}(e);" + "}"


def by_ref(function: str, ref: str) -> str:
    """``function`` applied to the element with the Playwright ref ``ref``, given as JSON; null in a frame without it."""
    return _BY_REF.replace("REF", ref, 1).replace("FUNCTION", function, 1)


_BY_REF: Final = (
    "(() => {"
    + DOM
    + r"""
  const wanted = REF, search = tree => {
    for (const e of all(tree, '*')) {
      if (e._ariaRef && e._ariaRef.ref === wanted) return e;
      const inner = prop(e, 'shadowRoot'), found = inner && search(inner);
      if (found) return found;
    }
    return null;
  };
  const e = search(document);
  return e && (FUNCTION)(e);
})()"""
)

LABELS_OF: Final = r"""(select, value) => {
  if (!(select instanceof HTMLSelectElement)) return [];
  const options = [...select.options], found = options.find(option => option.value === value);
  return found ? options.filter(option => option.label === found.label).map(option => option.label) : [];
}"""
"""The label of the first option with a value, repeated for each option with that value: the browser also chooses the first."""

SCROLL: Final = (
    "(amount => {"
    + DOM
    + r"""
  const middle = invoke(document, 'elementFromPoint', innerWidth / 2, innerHeight / 2);
  for (let e = middle; e; e = prop(e, 'parentElement')) {
    if (prop(e, 'scrollHeight') > prop(e, 'clientHeight') && /auto|scroll/.test(getComputedStyle(e).overflowY)) {
      const before = prop(e, 'scrollTop'); invoke(e, 'scrollBy', {top: amount, behavior: 'instant'});
      if (prop(e, 'scrollTop') !== before) return;
    }
  }
  window.scrollBy({top: amount, behavior: 'instant'});
})(AMOUNT)"""
)
