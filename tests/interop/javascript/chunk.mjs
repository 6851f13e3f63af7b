// Automerge change chunks, as far as deltas use them (docs/protocol/deltas.md and the automerge binary format).

import { sha256 } from './ids.mjs'
import { demand } from './errors.mjs'

const MAGIC = Buffer.from('856f4a83', 'hex')
const CHANGE = 1
const OPS_MAX = 20_000
const VALUE_BYTES_MAX = 4096
const KEY_BYTES_MAX = 64
const WHOLE_MAX = 2n ** 53n
const [MAKE_MAP, SET] = [0, 1]
const BYTES = 7
export const MAPS = ['nodes', 'stats', 'lease']
// Columns by their ids in the format, in the order they stand in a chunk.
const COLUMNS = {
  objActor: 0x01,
  objCounter: 0x02,
  key: 0x15,
  insert: 0x34,
  action: 0x42,
  meta: 0x56,
  raw: 0x57,
  preds: 0x70,
  predActor: 0x71,
  predCounter: 0x73,
}

const check = (ok, why) => demand(ok, 'delta.invalid', why)

class Input {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0 })
  }

  get done() {
    return this.at === this.bytes.length
  }

  take(count) {
    check(count <= this.bytes.length - this.at, 'ends too early')
    this.at += count
    return this.bytes.subarray(this.at - count, this.at)
  }

  /** LEB128 in its shortest form. */
  leb(signed = false) {
    let [value, shift, byte, before] = [0n, 0n, 0x80, 0]
    for (; byte & 0x80; shift += 7n) {
      check(shift < 63n, 'a number that is too large')
      ;[before, byte] = [byte, this.take(1)[0]]
      value |= BigInt(byte & 0x7f) << shift
    }
    const padded = signed ? (byte === 0 && !(before & 0x40)) || (byte === 0x7f && before & 0x40) : byte === 0
    check(shift === 7n || !padded, 'not the shortest form')
    if (signed) value = BigInt.asIntN(Number(shift), value)
    check(value <= WHOLE_MAX && -value <= WHOLE_MAX, 'a number beyond 2^53')
    return Number(value)
  }
}

function leb(number, signed = false) {
  const bytes = []
  for (let rest = BigInt(number); ;) {
    const seven = Number(rest & 0x7fn)
    rest >>= 7n
    const last = signed ? (rest === 0n && !(seven & 0x40)) || (rest === -1n && seven & 0x40) : rest === 0n
    bytes.push(last ? seven : seven | 0x80)
    if (last) return Buffer.from(bytes)
  }
}

/** `count` values of a run-length column; null stands for nothing. */
function readRuns(bytes, count, readValue) {
  const input = new Input(bytes)
  const values = []
  while (!input.done) {
    const run = input.leb(true)
    const length = run > 0 ? run : run < 0 ? -run : input.leb()
    check(length > 0 && length <= count - values.length, 'a run of the wrong length')
    if (run > 0) values.push(...Array(run).fill(readValue(input)))
    else for (let i = 0; i < length; i++) values.push(run < 0 ? readValue(input) : null)
  }
  check(values.length === count, 'a column of the wrong length')
  return values
}

function writeRuns(values, writeValue) {
  const parts = []
  for (let at = 0; at < values.length;) {
    const same = values.slice(at).findIndex((value) => value !== values[at])
    let length = same < 0 ? values.length - at : same
    if (values[at] === null) parts.push(leb(0, true), leb(length))
    else if (length > 1) parts.push(leb(length, true), writeValue(values[at]))
    else {
      const alone = (i) => values[i] !== null && values[i] !== values[i - 1] && values[i] !== values[i + 1]
      while (at + length < values.length && alone(at + length)) length++
      parts.push(leb(-length, true), ...values.slice(at, at + length).map(writeValue))
    }
    at += length
  }
  return Buffer.concat(parts)
}

const unsigned = (input) => input.leb()
const keyText = (input) => {
  const bytes = input.take(input.leb())
  check(bytes.length <= KEY_BYTES_MAX && bytes.every((byte) => byte > 31 && byte < 127), 'no key')
  return bytes.toString()
}
const writeText = (text) => Buffer.concat([leb(Buffer.byteLength(text)), Buffer.from(text)])

function readDeltas(bytes, count) {
  let sum = 0
  return readRuns(bytes, count, (input) => input.leb(true)).map((step) => (step === null ? null : (sum += step)))
}

function writeDeltas(values) {
  return writeRuns(
    values.map((value, i) => value - (values[i - 1] ?? 0)),
    (step) => leb(step, true),
  )
}

/** How many operations the action column holds: every other column must have as many. */
function countActions(bytes) {
  const input = new Input(bytes)
  let count = 0
  while (!input.done) {
    const run = input.leb(true)
    count += Math.abs(run)
    check(run !== 0 && count <= OPS_MAX, 'more operations than allowed')
    for (let i = run > 0 ? 1 : -run; i > 0; i--) input.leb()
  }
  return count
}

/** A chunk whose form is right: `{hash, dependencies, actor, seq, startOp, operations}`. */
export function readChunk(bytes) {
  const outer = new Input(bytes)
  check(outer.take(4).equals(MAGIC), 'another magic')
  const sum = outer.take(4)
  const hash = sha256(bytes.subarray(8))
  check(sum.equals(hash.subarray(0, 4)), 'wrong checksum')
  check(outer.take(1)[0] === CHANGE, 'not an uncompressed change')
  const input = new Input(outer.take(outer.leb()))
  check(outer.done, 'bytes after the chunk')
  const dependencies = Array.from({ length: few(input.leb()) }, () => input.take(32))
  const actor = input.take(input.leb())
  const [seq, startOp, time] = [input.leb(), input.leb(), input.leb(true)]
  check(time === 0 && input.leb() === 0 && input.leb() === 0, 'a time, a message or another actor')
  return { hash, dependencies, actor, seq, startOp, operations: readOperations(readColumns(input)) }
}

const few = (count) => {
  check(count <= 1, 'more than one dependency')
  return count
}

function readColumns(input) {
  const sizes = Array.from({ length: input.leb() }, () => [input.leb(), input.leb()])
  const ids = sizes.map(([id]) => id)
  check(
    ids.every((id, i) => Object.values(COLUMNS).includes(id) && (i === 0 || ids[i - 1] < id)),
    'columns',
  )
  check(
    sizes.every(([, size]) => size > 0),
    'an empty column',
  )
  const found = new Map(sizes.map(([id, size]) => [id, input.take(size)]))
  check(input.done, 'bytes after the columns')
  return Object.fromEntries(Object.entries(COLUMNS).map(([name, id]) => [name, found.get(id) ?? Buffer.alloc(0)]))
}

function readOperations(columns) {
  const count = countActions(columns.action)
  check(count > 0, 'no operations')
  const actions = readRuns(columns.action, count, unsigned)
  const nullable = (bytes, read) => (bytes.length ? read(bytes) : Array(count).fill(null))
  const objActors = nullable(columns.objActor, (bytes) => readRuns(bytes, count, unsigned))
  const objects = nullable(columns.objCounter, (bytes) => readRuns(bytes, count, unsigned))
  const keys = readRuns(columns.key, count, keyText)
  const metas = readRuns(columns.meta, count, unsigned)
  const predCounts = readRuns(columns.preds, count, unsigned)
  const predTotal = predCounts.reduce((sum, n) => sum + n, 0)
  check(predTotal <= count, 'too many predecessors')
  const predActors = readRuns(columns.predActor, predTotal, unsigned)
  const preds = readDeltas(columns.predCounter, predTotal)
  const insert = new Input(columns.insert)
  check(insert.leb() === count && insert.done, 'an insertion')
  check(
    predActors.every((actor) => actor === 0),
    'a predecessor of another actor',
  )
  const raw = new Input(columns.raw)
  const operations = actions.map((action, i) => {
    check(action === MAKE_MAP || action === SET, 'another operation than a put')
    check(action === SET ? metas[i] % 16 === BYTES : metas[i] === 0, 'not a byte string')
    check((objects[i] === null) === (objActors[i] === null) && (objActors[i] ?? 0) === 0, 'an object of another actor')
    const value = raw.take(metas[i] >> 4)
    check(keys[i] !== null && value.length <= VALUE_BYTES_MAX && predCounts[i] <= 1, 'key, value or predecessors')
    return { action, object: objects[i], key: keys[i], value, pred: predCounts[i] ? preds.shift() : null }
  })
  check(raw.done, 'value bytes that nothing names')
  return operations
}

/** The change that creates the maps (when it is the first) and makes `puts`: `[map, key, value, pred or null]`. */
export function writeChunk({ actor, seq, startOp, dependency, puts }) {
  const making = dependency
    ? []
    : MAPS.map((name) => ({ action: MAKE_MAP, object: null, key: name, value: null, pred: null }))
  const setting = puts.map(([map, key, value, pred]) => ({
    action: SET,
    object: MAPS.indexOf(map) + 1,
    key,
    value,
    pred,
  }))
  const ops = [...making, ...setting]
  const preds = ops.map(({ pred }) => pred).filter((pred) => pred !== null)
  const number = (value) => leb(value)
  const columns = Object.entries({
    objActor: writeRuns(
      ops.map(({ object }) => (object === null ? null : 0)),
      number,
    ),
    objCounter: writeRuns(
      ops.map(({ object }) => object),
      number,
    ),
    key: writeRuns(
      ops.map(({ key }) => key),
      writeText,
    ),
    insert: leb(ops.length),
    action: writeRuns(
      ops.map(({ action }) => action),
      number,
    ),
    meta: writeRuns(
      ops.map(({ value }) => (value === null ? 0 : value.length * 16 + BYTES)),
      number,
    ),
    raw: Buffer.concat(ops.map(({ value }) => value ?? Buffer.alloc(0))),
    preds: writeRuns(
      ops.map(({ pred }) => (pred === null ? 0 : 1)),
      number,
    ),
    predActor: writeRuns(
      preds.map(() => 0),
      number,
    ),
    predCounter: writeDeltas(preds),
  }).filter(([, bytes]) => bytes.length)
  const table = columns.flatMap(([name, bytes]) => [leb(COLUMNS[name]), leb(bytes.length)])
  const dependencies = dependency ? [leb(1), dependency] : [leb(0)]
  const head = [...dependencies, leb(actor.length), actor, leb(seq), leb(startOp), leb(0, true), leb(0), leb(0)]
  const body = Buffer.concat([...head, leb(columns.length), ...table, ...columns.map(([, bytes]) => bytes)])
  const hashed = Buffer.concat([Buffer.from([CHANGE]), leb(body.length), body])
  return Buffer.concat([MAGIC, sha256(hashed).subarray(0, 4), hashed])
}
