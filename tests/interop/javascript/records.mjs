// Closed records (docs/protocol/messages.md): what a map must hold, field by field.

import { decode, encode } from './cbor.mjs'
import { as, demand } from './errors.mjs'

export const WHOLE_MAX = 2 ** 53

/** A check whose records within are those of another one. */
const of = (check, inner) => Object.defineProperty(check, 'fields', { get: () => inner().fields })

export const text =
  (most = Infinity, least = 0) =>
  (v) =>
    typeof v === 'string' && [...v].length >= least && [...v].length <= most
export const bytes =
  (most = Infinity, least = 0) =>
  (v) =>
    Buffer.isBuffer(v) && v.length >= least && v.length <= most
export const exactly = (size) => bytes(size, size)
export const whole =
  (most = WHOLE_MAX, least = 0) =>
  (v) =>
    isInteger(v) && v >= least && v <= most
export const matching = (pattern) => (v) => typeof v === 'string' && pattern.test(v)
export const bool = (v) => typeof v === 'boolean'
export const list = (item, most = Infinity, least = 0) => {
  const check = (v) => Array.isArray(v) && v.length <= most && v.length >= least && v.every((one) => item(one))
  return of(check, () => item)
}
/** A map of free text keys. */
export const mapOf = (item, most) => (v) =>
  v instanceof Map && v.size <= most && [...v].every(([key, one]) => typeof key === 'string' && item(one))
export const among =
  (...values) =>
  (v) =>
    values.includes(v)
export const anything = () => true
export const orNull = (check) =>
  of(
    (v) => v === null || check(v),
    () => check,
  )
export const either = (one, other) =>
  of(
    (v) => one(v) || other(v),
    () => other,
  )
/** A check that is named before it is made, for records that hold themselves. */
export const lazy = (check) => of((v) => check()(v), check)
export const record = (fields) => Object.assign((v) => fits(v, fields), { fields })
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

/** A decoded map as an object of exactly these fields, defaults filled in; records within stay Maps. */
export function read(map, fields, code = 'message.invalid') {
  demand(fits(map, fields), code, 'not the fields of this record')
  const valued = ([name, field]) => [name, map.has(name) ? map.get(name) : field.fallback]
  return Object.fromEntries(Object.entries(fields).map(valued))
}

/** As `read`, with the records within as objects too. */
export function readWhole(map, fields) {
  const given = read(map, fields)
  const inner = (value, check) => {
    const { fields: known } = check.check ?? check
    if (value instanceof Map) return known ? readWhole(value, known) : Object.fromEntries(value)
    return Array.isArray(value) ? value.map((item) => inner(item, check)) : value
  }
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, inner(value, fields[name])]))
}

/** The record in `raw`, strict CBOR. `code`: what any failure is called, where a place has one name for all. */
export function parse(raw, fields, { code = null, bytesMax } = {}) {
  const work = () => read(decode(raw, { bytesMax }), fields)
  return code ? as(code, work) : work()
}

export { encode }
