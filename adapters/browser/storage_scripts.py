"""Scripts that write the storage of an origin into a blank document of it. No script of a site runs beside them."""

from __future__ import annotations

from typing import Final

WRITE: Final = r"""async (text) => {
  const {origin, localStorage: items = [], indexedDB: databases = []} = JSON.parse(text);
  if (location.origin !== origin) return 'origin';
  const arrays = {i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array, i32: Int32Array,
    ui32: Uint32Array, f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array};
  const bytes = text => Uint8Array.from(atob(text), char => char.charCodeAt(0));
  const words = {undefined: undefined, null: null, NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0};
  // The form in which Playwright writes what JSON lacks: a letter for the type, `id` and `ref` for what stands twice.
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
    // In the transaction that makes the database, so that there is all of it or none.
    asked.onupgradeneeded = () => {
      try {
        for (const store of said.stores) {
          const made = asked.result.createObjectStore(store.name, {autoIncrement: store.autoIncrement, keyPath: path(store) ?? null});
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
"""Takes an origin of a ``storage_state`` as JSON. Gives the name of what could not be written, or the empty text."""
