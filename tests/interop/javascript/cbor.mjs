// Strict deterministic CBOR (docs/protocol/cbor.md): one encoding per value, everything else refused.
//
// Values: integers are numbers, or BigInt beyond 2^53; bytes are Buffers; maps are Maps when decoded, and Maps or plain
// objects when encoded.

import { demand, MeshError } from './errors.mjs'

const DEPTH_MAX = 16
const ITEMS_MAX = 20_000
const BYTES_MAX = 2 * 1024 * 1024
const ENVELOPE_TAG = 18n

function head(major, count) {
  const n = BigInt(count)
  const lead = major << 5
  if (n < 24n) return Buffer.from([lead | Number(n)])
  for (const [info, size] of [
    [24, 1],
    [25, 2],
    [26, 4],
    [27, 8],
  ]) {
    if (n < 1n << BigInt(8 * size)) return Buffer.from([lead | info, ...hexBytes(n, size)])
  }
  throw new MeshError('cbor.invalid', 'an integer of more than 64 bits')
}

const hexBytes = (n, size) => Buffer.from(n.toString(16).padStart(2 * size, '0'), 'hex')

/** The one encoding of `value`. */
export function encode(value) {
  if (value === false) return Buffer.from([0xf4])
  if (value === true) return Buffer.from([0xf5])
  if (value === null) return Buffer.from([0xf6])
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
    return value < 0 ? head(1, -1n - BigInt(value)) : head(0, value)
  }
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encode)])
  if (typeof value === 'object') return encodeMap(value instanceof Map ? [...value] : Object.entries(value))
  throw new MeshError('cbor.invalid', `cannot encode a ${typeof value}`)
}

function encodeMap(entries) {
  const pairs = entries.map(([key, item]) => [encode(key), encode(item)])
  pairs.sort(([a], [b]) => Buffer.compare(a, b))
  return Buffer.concat([head(5, pairs.length), ...pairs.flat()])
}

/** An envelope's outer form: tag 18 around the encoding of `value`. */
export const encodeTagged = (value) => Buffer.concat([head(6, ENVELOPE_TAG), encode(value)])

/** The value in `bytes`, all of them. `tagged`: an envelope's tag must stand around it. */
export function decode(
  bytes,
  { bytesMax = BYTES_MAX, depthMax = DEPTH_MAX, itemsMax = ITEMS_MAX, tagged = false } = {},
) {
  demand(bytes.length <= bytesMax, 'cbor.limit', `more than ${bytesMax} bytes`)
  const reader = new Reader(Buffer.from(bytes), depthMax, itemsMax)
  if (tagged) demand(reader.head().join() === `6,${ENVELOPE_TAG}`, 'cbor.invalid', 'no envelope tag')
  const value = reader.value(0)
  demand(reader.at === reader.bytes.length, 'cbor.invalid', 'bytes after the value')
  return value
}

class Reader {
  constructor(bytes, depthMax, itemsMax) {
    Object.assign(this, { bytes, depthMax, itemsLeft: itemsMax, at: 0 })
  }

  take(count) {
    demand(count <= this.bytes.length - this.at, 'cbor.invalid', 'ends too early')
    this.at += count
    return this.bytes.subarray(this.at - count, this.at)
  }

  /** Major type and argument (BigInt) of the next head, in shortest form. */
  head() {
    const first = this.take(1)[0]
    const [major, info] = [first >> 5, first & 31]
    if (info < 24) return [major, BigInt(info)]
    demand(info < 28, 'cbor.invalid', 'indefinite or reserved length')
    const size = 1 << (info - 24)
    const argument = BigInt(`0x${this.take(size).toString('hex')}`)
    const least = size === 1 ? 24n : 1n << BigInt(4 * size)
    demand(argument >= least, 'cbor.invalid', 'not the shortest form')
    return [major, argument]
  }

  value(depth) {
    demand(this.itemsLeft-- > 0, 'cbor.limit', 'too many items')
    const [major, argument] = this.head()
    if (major === 0) return plain(argument)
    if (major === 1) return plain(-1n - argument)
    if (major === 7) return this.simple(argument)
    demand(major !== 6, 'cbor.invalid', 'a tag')
    const least = argument * (major === 5 ? 2n : 1n) // a map holds two items for each it counts
    demand(least <= BigInt(this.bytes.length - this.at), 'cbor.invalid', 'longer than what is left')
    const count = Number(argument)
    if (major === 2) return Buffer.from(this.take(count))
    if (major === 3) return text(this.take(count))
    demand(count === 0 || depth < this.depthMax, 'cbor.limit', 'too deep') // an empty one holds no level
    return major === 4 ? Array.from({ length: count }, () => this.value(depth + 1)) : this.map(count, depth + 1)
  }

  map(count, depth) {
    const map = new Map()
    let before = null
    for (let i = 0; i < count; i++) {
      const start = this.at
      const key = this.value(depth)
      const encoded = this.bytes.subarray(start, this.at)
      const major = encoded[0] >> 5
      demand(major === 3 || major === 0, 'cbor.invalid', 'a map key is text or an unsigned integer')
      if (before) {
        demand(before[0] >> 5 === major, 'cbor.invalid', 'map keys of two types')
        demand(Buffer.compare(before, encoded) < 0, 'cbor.invalid', 'map keys out of order')
      }
      before = encoded
      map.set(key, this.value(depth))
    }
    return map
  }

  simple(argument) {
    const known = { 0xf4: false, 0xf5: true, 0xf6: null }
    const byte = argument < 24n ? 0xe0 + Number(argument) : -1
    demand(byte in known, 'cbor.invalid', 'a float or a simple value that is not allowed')
    return known[byte]
  }
}

const plain = (n) => (n >= BigInt(Number.MIN_SAFE_INTEGER) && n <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(n) : n)

function text(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new MeshError('cbor.invalid', 'text that is not UTF-8')
  }
}
