"""The script that reports the acts of a person. It runs in an isolated world of each frame, before the first script of the page.

A page can neither see the world nor call its binding. An element is reported by the refs that the last observation of the page
gave to it and to the elements around it (``mark``). The content of a field that is or ever was a field for secrets does not leave
this world.
"""

from __future__ import annotations

import json
from typing import Final

from protocol import limits

BINDING: Final = "trailmeshHeard"
WORLD: Final = "trailmesh"
_TELLING_CHARS: Final = 6
"""A shorter secret occurs in a text of the page by chance."""

_WALK: Final = r"""
const all = root => {
  const found = [];
  const visit = tree => {
    for (const e of tree.querySelectorAll('*')) { found.push(e); if (e.shadowRoot) visit(e.shadowRoot); }
  };
  visit(root);
  return found;
};
"""

REFS: Final = (
    "(() => {"
    + _WALK
    + r"""
const elements = all(document), refs = [];
elements.forEach((e, place) => { if (e._ariaRef) refs.push([place, e._ariaRef.ref]); });
return JSON.stringify({total: elements.length, refs});
})()"""
)
"""In Playwright's world: how many elements a frame has, and the refs of those that have one, by index."""

_SCRIPT: Final = r"""(() => {
if (globalThis.watch) return;
WALK
const getter = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name).get;
const parent = getter(Node, 'parentElement'), slot = getter(Element, 'assignedSlot');
const valueOfInput = getter(HTMLInputElement, 'value'), valueOfArea = getter(HTMLTextAreaElement, 'value');
const typeOf = getter(HTMLInputElement, 'type'), shown = getter(HTMLElement, 'innerText');
const attribute = (e, name) => Element.prototype.getAttribute.call(e, name) || '';
const closest = (e, selector) => Element.prototype.closest.call(e, selector);
const above = e => {
  const tree = Node.prototype.getRootNode.call(e);
  return slot.call(e) || parent.call(e) || (tree instanceof ShadowRoot ? tree.host : null);
};
// JSON readers refuse half a surrogate pair.
const short = (text, most) => String(text).replace(/\s+/g, ' ').trim().slice(0, most).toWellFormed();

let refs = new WeakMap(), marked = false, structure = 0, timer = 0, last = 0;
const numbers = new WeakMap(), kept = new Map(), secrets = new WeakSet(), held = new Set();
const number = e => { if (!numbers.has(e)) numbers.set(e, ++last); return numbers.get(e); };
const send = told => globalThis.BINDING(JSON.stringify(told));
const changed = () => { timer = timer || setTimeout(() => { timer = 0; send({kind: 'changed'}); }, QUIET); };
const note = records => {
  structure += records.filter(r => r.type === 'childList').length;
  for (const r of records) {
    if (r.attributeName === 'type' && /^password$/i.test(r.oldValue || '')) keep(r.target);
    for (const e of r.removedNodes) if (e instanceof Element) learn([e, ...Element.prototype.querySelectorAll.call(e, 'input')]);
  }
  if (records.some(r => r.type !== 'attributes' || r.attributeName !== 'style')) changed();
};
const observer = new MutationObserver(note);
const observed = new WeakSet();
const follow = tree => {
  if (observed.has(tree)) return;
  observed.add(tree);
  observer.observe(tree, {subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true});
};
follow(document);

const WORDS = new Set(SECRET_WORDS), PARTS = SECRET_PARTS;
const speaks = text => {
  const words = text.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).map(word => word.toLowerCase());
  const folded = text.toLowerCase(), joined = folded.replace(/[^a-z0-9]/g, '');
  return words.some(word => WORDS.has(word)) || PARTS.some(part => folded.includes(part) || joined.includes(part));
};
const SAID = new RegExp(SECRET_LABEL, 'i');
const contentOf = e => e instanceof HTMLInputElement ? valueOfInput.call(e)
  : e instanceof HTMLTextAreaElement ? valueOfArea.call(e) : shown.call(e);
const keys = new Set(), values = new Map();
const keysOf = e => [['i', attribute(e, 'id')], ['n', attribute(e, 'name')], ['l', nameOf(e)]]
  .filter(([_, text]) => text).map(pair => pair.join());
const keep = e => { secrets.add(e); keysOf(e).forEach(key => keys.add(key)); };
const tells = e => values.size > 0 && [...values.values()].some(each => contentOf(e).includes(each));
const clean = text => [...values.values()].reduce((left, each) => left.replaceAll(each, '…'), text);
const isSecret = e => {
  if (secrets.has(e)) return true;
  if (!isText(e)) return false;
  const found = (e instanceof HTMLInputElement && typeOf.call(e) === 'password')
    || /(^|\s)(cc-[a-z-]+|one-time-code|current-password|new-password)(\s|$)/i.test(attribute(e, 'autocomplete'))
    || speaks(attribute(e, 'name')) || speaks(attribute(e, 'id')) || SAID.test(nameOf(e))
    || getComputedStyle(e).webkitTextSecurity !== 'none'
    || keysOf(e).some(key => keys.has(key)) || tells(e);
  if (found) keep(e);  // also once the page shows the password as text, in this field or in one of the same name
  return found;
};
const isLike = e => keysOf(e).some(key => keys.has(key)) && contentOf(e) !== '';
const shows = () => (document.body instanceof HTMLElement && tells(document.body))
  || all(document).some(e => isText(e) && (isLike(e) || tells(e)));
const learn = elements => elements.filter(e => e instanceof HTMLInputElement && typeOf.call(e) === 'password').forEach(isSecret);

const TYPES = {button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
  search: 'searchbox', number: 'spinbutton', range: 'slider'};
const roleOf = e => (/^[a-z]{1,32}$/.exec(attribute(e, 'role')) || [''])[0]
  || (e instanceof HTMLInputElement ? TYPES[typeOf.call(e)] || 'textbox'
  : e instanceof HTMLSelectElement ? 'combobox' : e instanceof HTMLTextAreaElement ? 'textbox'
  : e instanceof HTMLButtonElement ? 'button' : e instanceof HTMLAnchorElement ? 'link' : 'generic');
const nameOf = e => {
  const labels = 'labels' in e && e.labels ? [...e.labels].map(label => shown.call(label)).join(' ') : '';
  const own = e instanceof HTMLInputElement && ['submit', 'button', 'reset'].includes(typeOf.call(e)) ? contentOf(e) : '';
  const text = roleOf(e) === 'textbox' || e instanceof HTMLSelectElement || !(e instanceof HTMLElement) || e.isContentEditable
    ? '' : shown.call(e);
  return short(attribute(e, 'aria-label') || labels || own || text || attribute(e, 'title') || attribute(e, 'placeholder'), 200);
};
const CONTROL = 'a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=menuitem],[role=tab],[role=option]';

const tell = (kind, event, e, more = {}) => {
  const chain = [];
  for (let each = e; each && chain.length < 24; each = above(each)) if (refs.has(each)) chain.push(refs.get(each));
  const key = number(e);
  if (!chain.length) { kept.set(key, e); if (kept.size > 50) kept.delete(kept.keys().next().value); }
  const control = closest(e, CONTROL) || e;
  send({kind, node: key, refs: chain, role: roleOf(control), name: clean(nameOf(control)), secret: isSecret(e),
    at: event.timeStamp, ...more});
};
let made = 0, soon = 0;
const scripted = () => {  // told of in sum: a script could make up any number
  made += 1;
  soon = soon || setTimeout(() => { send({kind: 'script', node: made}); made = soon = 0; }, QUIET);
};
const TYPING = ['keydown', 'beforeinput', 'paste', 'drop', 'compositionend'], TYPING_MS = 500;
let idle = null, typing = null, typedAt = 0;
// Trusted events come from scripts too: `change` by `click()` of a check box, `input` by `execCommand`. A microtask queued in the
// first listener waits while a script runs; for an event of a person it runs before the second listener.
const byScript = (e, event) => {
  if (!event.isTrusted) return true;
  if (idle === event) {
    if (TYPING.includes(event.type)) { typing = e; typedAt = event.timeStamp; }
    return false;
  }
  // An editor may insert the typed text by its own script.
  return event.type !== 'input' || typing !== e || event.timeStamp - typedAt > TYPING_MS;
};
const own = event => {
  const e = event.composedPath()[0];
  for (const each of event.composedPath()) if (each instanceof ShadowRoot) follow(each);
  if (byScript(e, event)) { scripted(); return null; }
  return e instanceof Element ? e : e instanceof Document ? document.body : null;
};
const NO_TEXT = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file'];
const isText = e => e instanceof HTMLTextAreaElement || (e instanceof HTMLElement && e.isContentEditable)
  || (e instanceof HTMLInputElement && !NO_TEXT.includes(typeOf.call(e)));
const isToggle = e => e instanceof HTMLInputElement && ['checkbox', 'radio'].includes(typeOf.call(e));
const passes = e => {
  const label = closest(e, 'label'), control = label && label.control;
  // A click on a label is followed by one on its field, whose change event reports the result.
  if (control && control !== e && !closest(e, 'a[href],button,input,select,textarea')) return true;
  return isToggle(e) || closest(e, 'select') !== null || (e instanceof HTMLInputElement && typeOf.call(e) === 'file');
};
const on = (name, act) => {
  addEventListener(name, event => queueMicrotask(() => { idle = event; }), true);
  addEventListener(name, event => { const e = own(event); if (e) act(e, event); }, true);
};
on('click', (e, event) => {
  if (!passes(e) && (event.detail % 2 || !event.detail)) tell('click', event, e, {keyed: event.detail === 0, field: isText(e)});
});
on('dblclick', (e, event) => { if (!isText(e) && !passes(e)) tell('double', event, e); });
on('contextmenu', (e, event) => tell('right', event, e));
const typed = (e, event) => {
  const host = e.isContentEditable ? (closest(e, '[contenteditable]') || e) : e;
  const hidden = isSecret(host), content = contentOf(host);
  if (hidden) held.add(host);
  if (hidden && content.length >= TELLING) values.set(host, content);
  tell('text', event, host, hidden ? {} : {text: content.slice(0, MOST).toWellFormed()});
};
on('input', (e, event) => { if (isText(e)) typed(e, event); });
on('change', (e, event) => {
  if (e instanceof HTMLSelectElement)
    tell('choice', event, e, {texts: [...e.selectedOptions].slice(0, CHOSEN).map(o => o.label.slice(0, MOST).toWellFormed())});
  else if (isToggle(e)) tell('check', event, e, {checked: e.checked});
  else if (e instanceof HTMLInputElement && typeOf.call(e) === 'file')
    tell('file', event, e, {texts: [...e.files].slice(0, CHOSEN).map(file => file.name.slice(0, MOST).toWellFormed())});
  else if (isText(e)) typed(e, event);
});
for (const name of ['paste', 'drop', 'compositionend', 'focusin']) on(name, isSecret);
const lines = new WeakSet();
on('beforeinput', (e, event) => { if (/^insert(LineBreak|Paragraph)$/.test(event.inputType)) lines.add(e); });
const LISTS = ['combobox', 'listbox', 'menu', 'menubar', 'radiogroup', 'slider', 'tablist', 'tree', 'grid'];
const STEERED = '[aria-activedescendant],[aria-autocomplete],' + LISTS.map(role => `[role=${role}]`).join();
on('keydown', (e, event) => {
  if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
  // An arrow key chooses in a list of suggestions; in plain text it moves the caret, which no step needs.
  const arrow = isText(e) ? /^Arrow(Up|Down)$/ : /^(Arrow\w+|Home|End|PageUp|PageDown)$/;
  if (arrow.test(event.key) && !event.shiftKey && closest(e, STEERED) && !(e instanceof HTMLSelectElement))
    tell('key', event, e, {key: event.key});
  if (event.repeat) return;
  if (event.key === 'Escape') tell('key', event, e, {key: 'Escape'});
  if (event.key !== 'Enter' || (closest(e, CONTROL) && !isText(e) && !(e instanceof HTMLSelectElement))) return;
  if (!(e instanceof HTMLTextAreaElement || e.isContentEditable)) { tell('key', event, e, {key: 'Enter'}); return; }
  lines.delete(e);  // a new line, or what sends a message? the next event says
  setTimeout(() => { if (!lines.has(e)) tell('key', event, e, {key: 'Enter'}); });
});
if (window === top) navigation.addEventListener('navigate', event => {
  const old = ['traverse', 'reload'].includes(event.navigationType) && !event.destination.sameDocument;
  if (old && !event.userInitiated) send({kind: 'led'});
});
for (const name of ['DOMContentLoaded', 'load', 'pageshow']) addEventListener(name, changed, true);

globalThis.watch = {
  marked: () => marked,
  begin: () => { note(observer.takeRecords()); return structure; },
  mark: (count, total, listed) => {
    note(observer.takeRecords());
    const elements = all(document);
    for (const e of elements) if (e.shadowRoot) follow(e.shadowRoot);
    learn(elements);
    if (structure !== count || elements.length !== total) return false;
    refs = new WeakMap(listed.map(([place, ref]) => [elements[place], ref]));
    marked = true;
    return true;
  },
  holds: () => [...held].some(e => e.isConnected && contentOf(e) !== '') || (values.size > 0 && shows()),
  late: key => {
    const e = kept.get(key), chain = [];
    for (let each = e; each && chain.length < 24; each = above(each)) if (refs.has(each)) chain.push(refs.get(each));
    return JSON.stringify(chain);
  },
};
changed();
})()"""


def script(words: frozenset[str], parts: tuple[str, ...], label: str, *, quiet_ms: int, chars_max: int) -> str:
    """The script. words, parts: words in the name of a field that mark it as one for secrets."""
    filled = {
        "WALK": _WALK,
        "BINDING": BINDING,
        "QUIET": str(quiet_ms),
        "SECRET_WORDS": json.dumps(sorted(words)),
        "SECRET_PARTS": json.dumps(sorted(parts)),
        "SECRET_LABEL": json.dumps(label),
        "TELLING": str(_TELLING_CHARS),
        "MOST": str(chars_max),
        "CHOSEN": str(limits.OPTIONS_CHOSEN_MAX + 1),
    }
    text = _SCRIPT
    for name, filling in filled.items():
        text = text.replace(name, filling)
    return text
