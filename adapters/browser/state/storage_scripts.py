"""Scripts that write and read the storage of an origin, each in an isolated world."""

from __future__ import annotations

from typing import Final

WRITE: Final = r"""async (text) => {
  const {origin, localStorage: items = [], indexedDB: databases = []} = JSON.parse(text);
  if (location.origin !== origin) return 'origin';
  const arrays = {i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array, i32: Int32Array,
    ui32: Uint32Array, f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array};
  const bytes = text => Uint8Array.from(atob(text), char => char.charCodeAt(0));
  const words = {undefined: undefined, null: null, NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0};
  // Playwright's form for values that JSON lacks: a letter for the type, `id` and `ref` for repeated objects.
  const read = (value, known) => {
    if (typeof value !== 'object' || value === null) return value;
    const made = result => (known.set(value.id, result), result);
    if ('ref' in value) return known.get(value.ref);
    if ('v' in value) return words[value.v];
    if ('d' in value) return new Date(value.d);
    if ('bi' in value) return BigInt(value.bi);
    if ('u' in value) return new URL(value.u);
    if ('r' in value) return new RegExp(value.r.p, value.r.f);
    if ('ta' in value) return new arrays[value.ta.k](bytes(value.ta.b).buffer);
    if ('ab' in value) return bytes(value.ab.b).buffer;
    if ('e' in value) return Object.assign(new Error(value.e.m), {name: value.e.n, stack: value.e.s});
    if ('a' in value) {
      const list = made([]);
      for (const each of value.a) list.push(read(each, known));
      return list;
    }
    if ('o' in value) {
      const result = made({});
      for (const {k, v} of value.o) if (k !== '__proto__') result[k] = read(v, known);
      return result;
    }
    if ('m' in value) {
      const map = made(new Map());
      for (const {k, v} of value.m) map.set(read(k, known), read(v, known));
      return map;
    }
    if ('s' in value) {
      const set = made(new Set());
      for (const each of value.s) set.add(read(each, known));
      return set;
    }
    return value;
  };
  const either = (record, name) =>
    name in record ? record[name] : read(record[name + 'Encoded'], new Map());
  const path = said => said.keyPathArray ?? said.keyPath;
  const write = said => new Promise((done, failed) => {
    const asked = indexedDB.open(said.name, said.version);
    // In the transaction that creates the database, so that it is complete or absent.
    asked.onupgradeneeded = () => {
      try {
        for (const store of said.stores) {
          const options = {autoIncrement: store.autoIncrement, keyPath: path(store) ?? null};
          const made = asked.result.createObjectStore(store.name, options);
          for (const index of store.indexes)
            made.createIndex(index.name, path(index), {unique: index.unique, multiEntry: index.multiEntry});
          for (const record of store.records) made.add(either(record, 'value'), either(record, 'key'));
        }
      } catch (error) {
        asked.transaction.abort();
      }
    };
    asked.onsuccess = () => { asked.result.close(); done(); };
    asked.onerror = asked.onblocked = failed;
  });
  const all = Promise.allSettled(databases.map(write));
  try {
    for (const {name, value} of items) localStorage.setItem(name, value);
    if (items.some(({name, value}) => localStorage.getItem(name) !== value)) return 'localStorage';
  } catch {
    return 'localStorage';
  }
  return (await all).some(each => each.status === 'rejected') ? 'IndexedDB' : '';
}"""
"""Takes an origin of a ``storage_state`` as JSON. Returns the name of the part that could not be written, or the empty text."""

READ: Final = r"""async () => {
  const arrays = {i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array, i32: Int32Array,
    ui32: Uint32Array, f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array};
  const kindOf = value => Object.prototype.toString.call(value).slice(8, -1);
  const lost = new Set();
  const bytes = (buffer, begin, size) => {
    let text = '';
    for (const each of new Uint8Array(buffer, begin, size)) text += String.fromCharCode(each);
    return btoa(text);
  };
  const plain = (value, known = new Set()) => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
    if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
    if (typeof value !== 'object' || known.has(value)) return false;
    known.add(value);
    const kind = kindOf(value);
    return (kind === 'Array' || kind === 'Object') && Object.keys(value).every(each => plain(value[each], known))
      && (kind === 'Object' || Object.keys(value).length === value.length);
  };
  const write = (value, known, place) => {
    if (value === undefined) return {v: 'undefined'};
    if (value === null) return {v: 'null'};
    if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)))
      return {v: Object.is(value, -0) ? '-0' : String(value)};
    if (typeof value === 'bigint') return {bi: String(value)};
    if (typeof value !== 'object') return value;
    const kind = kindOf(value);
    if (kind === 'Date') return {d: value.toJSON()};
    if (kind === 'RegExp') return {r: {p: value.source, f: value.flags}};
    if (kind === 'Error') return {e: {n: value.name, m: value.message, s: value.stack || ''}};
    if (kind === 'ArrayBuffer') return {ab: {b: bytes(value)}};
    for (const [k, type] of Object.entries(arrays))
      if (kind === type.name) return {ta: {b: bytes(value.buffer, value.byteOffset, value.byteLength), k}};
    if (known.has(value)) return {ref: known.get(value)};
    const id = known.size + 1;
    known.set(value, id);
    const each = item => write(item, known, place);
    if (kind === 'Map') return {m: [...value].map(([k, v]) => ({k: each(k), v: each(v)})), id};
    if (kind === 'Set') return {s: [...value].map(each), id};
    if (kind === 'Array') return {a: Array.from(value, each), id};
    if (kind === 'CryptoKey') lost.add('crypto-key in ' + place);
    else if (kind !== 'Object') lost.add('blob in ' + place);
    return {o: Object.keys(value).map(k => ({k, v: each(value[k])})), id};
  };
  // Both or neither: the reader expects a single form of a record.
  const record = (pair, place) => {
    const encoded = !Object.values(pair).every(each => plain(each));
    return Object.fromEntries(Object.entries(pair).map(([name, value]) =>
      encoded ? [name + 'Encoded', write(value, new Map(), place)] : [name, value]));
  };
  const path = said => Array.isArray(said) ? {keyPathArray: said} : said === null ? {} : {keyPath: said};
  const answered = asked => new Promise((done, failed) => {
    asked.onsuccess = () => done(asked.result);
    asked.onerror = asked.onblocked = failed;
  });
  const read = async ({name, version}) => {
    const base = await answered(indexedDB.open(name));
    try {
      const names = [...base.objectStoreNames];
      const held = names.length ? base.transaction(names) : null;
      const stores = await Promise.all(names.map(async each => {
        const store = held.objectStore(each), place = (name + '/' + each).slice(0, 200);
        const [keys, values] = await Promise.all([answered(store.getAllKeys()), answered(store.getAll())]);
        const records = values.map((value, at) => record(store.keyPath === null ? {key: keys[at], value} : {value}, place));
        const indexes = [...store.indexNames].map(each => store.index(each)).map(index =>
          ({name: index.name, ...path(index.keyPath), unique: index.unique, multiEntry: index.multiEntry}));
        return {name: each, ...path(store.keyPath), autoIncrement: store.autoIncrement, indexes, records};
      }));
      return {name, version, stores};
    } finally {
      base.close();
    }
  };
  const items = Object.keys(localStorage).map(name => ({name, value: localStorage.getItem(name)}));
  const databases = await Promise.all((await indexedDB.databases()).map(read));
  const text = JSON.stringify({localStorage: items, indexedDB: databases, lost: [...lost]});
  if (text.length > CHARS_MAX) throw new Error('too large');
  return text;
}"""
"""Returns the storage of an origin in the form that ``WRITE`` takes, as JSON of at most ``CHARS_MAX`` characters, and the kinds
of data that it lacks."""
