// Closed records (docs/protocol/messages.md): what a map must hold, field by field.

import { decode, encode } from './cbor.mjs'
import { as, demand } from './errors.mjs'

export const WHOLE_MAX = 2 ** 53

export const text = (most = Infinity, least = 0) => (v) =>
  typeof v === 'string' && [...v].length >= least && [...v].length <= most
export const bytes = (most = Infinity, least = 0) => (v) => Buffer.isBuffer(v) && v.length >= least && v.length <= most
export const exactly = (size) => bytes(size, size)
export const whole = (most = WHOLE_MAX, least = 0) => (v) => Number(v) >= least && Number(v) <= most && isInteger(v)
export const bool = (v) => typeof v === 'boolean'
export const list = (item, most = Infinity) => (v) => Array.isArray(v) && v.length <= most && v.every(item)
export const among = (...values) => (v) => values.includes(v)
export const anything = () => true
export const orNull = (check) => (v) => v === null || check(v)
export const record = (fields) => (v) => fits(v, fields)
export const optional = (check, fallback) => ({ check, fallback })

const isInteger = (v) => typeof v === 'bigint' || Number.isInteger(v)

function fits(map, fields) {
  if (!(map instanceof Map)) return false
  if ([...map.keys()].some((name) => !Object.hasOwn(fields, name))) return false
  return Object.entries(fields).every(([name, field]) => {
    if (!map.has(name)) return typeof field !== 'function'
    return (field.check ?? field)(map.get(name))
  })
}

/** A decoded map as an object of exactly these fields. */
export function read(map, fields, code = 'message.invalid') {
  demand(fits(map, fields), code, 'not the fields of this record')
  const valued = ([name, field]) => [name, map.has(name) ? map.get(name) : field.fallback]
  return Object.fromEntries(Object.entries(fields).map(valued))
}

/** The record in `raw`, strict CBOR. `code`: what any failure is called, where a place has one name for all. */
export function parse(raw, fields, { code = null, bytesMax } = {}) {
  const work = () => read(decode(raw, { bytesMax }), fields)
  return code ? as(code, work) : work()
}

export { encode }
