// Signed envelopes: COSE_Sign1 with Ed25519 (docs/protocol/envelope.md).

import { randomBytes } from 'node:crypto'
import { decode, encode, encodeTagged } from './cbor.mjs'
import { as, demand } from './errors.mjs'
import { checkVersion, mark, readMark } from './formats.mjs'
import { sign, verify } from './keys.mjs'

const ALGORITHM = 1,
  CONTENT_TYPE = 3,
  KEY_ID = 4,
  CWT_CLAIMS = 15
const ISSUER = 1,
  AUDIENCE = 3,
  EXPIRES = 4,
  ISSUED = 6,
  UNIQUE = 7
const EDDSA = -8
const SKEW_S = 60
const LIFETIME_S = 120
const MESSAGE_BYTES_MAX = 2 * 1024 * 1024
const ARTEFACT_BYTES_MAX = 1024 * 1024

export const mediaType = (kind) => `application/vnd.trailmesh.${mark(kind)}+cose`
export const keyId = (publicKey) => publicKey.subarray(0, 8)

const routeBytes = (route) => (route ? encode(['tm1', 'POST', route]) : Buffer.alloc(0))
const signedBytes = (header, route, payload) => encode(['Signature1', header, routeBytes(route), payload])

/** An envelope. A message names its `audience` and `route` (the path); an artefact neither. */
export function seal({ kind, key, issuer, payload, issued, audience = null, route = null, expires = null }) {
  const claims = new Map([
    [ISSUER, issuer],
    [ISSUED, issued],
    [UNIQUE, randomBytes(16)],
  ])
  if (audience !== null) claims.set(AUDIENCE, audience).set(EXPIRES, expires ?? issued + LIFETIME_S)
  const fields = [
    [ALGORITHM, EDDSA],
    [CONTENT_TYPE, mediaType(kind)],
    [KEY_ID, keyId(key.public)],
    [CWT_CLAIMS, claims],
  ]
  const header = encode(new Map(fields))
  return encodeTagged([header, {}, payload, sign(key, signedBytes(header, route, payload))])
}

/** The parts of an envelope whose form is right; nothing of it is believed yet. */
export function parse(bytes, bytesMax) {
  return as('envelope.invalid', () => {
    const outer = decode(bytes, { bytesMax, depthMax: 2, itemsMax: 8, tagged: true })
    demand(Array.isArray(outer) && outer.length === 4, 'envelope.invalid', 'not four parts')
    const [header, unprotected, payload, signature] = outer
    demand(unprotected instanceof Map && unprotected.size === 0, 'envelope.invalid', 'an unprotected header')
    for (const part of [header, payload, signature]) demand(Buffer.isBuffer(part), 'envelope.invalid', 'not bytes')
    demand(signature.length === 64 && header.length <= 512, 'envelope.invalid', 'a part of the wrong size')
    return { header, payload, signature, ...protectedHeader(decode(header)) }
  })
}

function protectedHeader(map) {
  demand(hasKeys(map, [ALGORITHM, CONTENT_TYPE, KEY_ID, CWT_CLAIMS]), 'envelope.invalid', 'not the four headers')
  demand(map.get(ALGORITHM) === EDDSA, 'envelope.invalid', 'another algorithm')
  const marked = /^application\/vnd\.trailmesh\.(.*)\+cose$/s.exec(map.get(CONTENT_TYPE))?.[1]
  demand(marked !== undefined, 'envelope.invalid', 'another media type')
  const [kind, version] = readMark(marked)
  demand(map.get(KEY_ID)?.length === 8 && Buffer.isBuffer(map.get(KEY_ID)), 'envelope.invalid', 'no key id')
  const claims = map.get(CWT_CLAIMS)
  demand(hasKeys(claims, [ISSUER, ISSUED, UNIQUE], [AUDIENCE, EXPIRES]), 'envelope.invalid', 'not the CWT claims')
  const found = {
    issuer: claims.get(ISSUER),
    audience: claims.get(AUDIENCE) ?? null,
    expires: claims.get(EXPIRES) ?? null,
    issued: claims.get(ISSUED),
    unique: claims.get(UNIQUE),
  }
  demand(isName(found.issuer), 'envelope.invalid', 'no issuer')
  demand(found.audience === null || isName(found.audience), 'envelope.invalid', 'no audience')
  for (const time of [found.issued, found.expires ?? 0]) demand(isTime(time), 'envelope.invalid', 'not a time')
  demand(Buffer.isBuffer(found.unique) && found.unique.length === 16, 'envelope.invalid', 'no unique id')
  return { kind, version, keyId: map.get(KEY_ID), ...found }
}

const isName = (value) => typeof value === 'string'
const isTime = (value) => Number.isInteger(value) || typeof value === 'bigint'

const hasKeys = (map, required, optional = []) =>
  map instanceof Map &&
  required.every((key) => map.has(key)) &&
  [...map.keys()].every((key) => required.includes(key) || optional.includes(key))

/**
 * The parts of an envelope that verifies. `keysOf(issuer, issued)` gives the public keys that were the issuer's then.
 * For a message also `route`, `audience`, `now` (seconds) and, once started, `startedAt` and `seen`, a ReplayWindow.
 */
export function open(bytes, { kinds, keysOf, bytesMax, route = null, audience, now, startedAt = 0, seen = null }) {
  const found = parse(bytes, bytesMax ?? (route ? MESSAGE_BYTES_MAX : ARTEFACT_BYTES_MAX))
  demand(kinds.includes(found.kind), 'envelope.kind', found.kind)
  checkVersion(found.kind, found.version)
  if (route) checkTimes(found, now)
  const key = keysOf(found.issuer, found.issued).find((one) => keyId(one).equals(found.keyId))
  demand(key, 'envelope.key_unknown', found.issuer)
  const signed = signedBytes(found.header, route, found.payload)
  demand(verify(key, signed, found.signature), 'envelope.signature', 'does not verify')
  if (route) {
    demand(found.audience === audience, 'envelope.audience', 'for another node')
    demand(found.issued >= startedAt, 'envelope.time', 'from before this node started')
    seen?.enter(`${found.issuer} ${found.unique.toString('hex')}`, now)
  }
  return { ...found, publicKey: key }
}

function checkTimes({ issued, expires }, now) {
  const lifetime = expires === null ? -1 : expires - issued
  demand(lifetime >= 0 && lifetime <= LIFETIME_S, 'envelope.time', 'no lifetime of at most 120 s')
  demand(issued <= now + SKEW_S && expires >= now - SKEW_S, 'envelope.time', 'clocks differ, or it is old')
}

/** Who sent what within the last 240 s. */
export class ReplayWindow {
  entries = new Map()

  enter(id, now) {
    for (const [old, at] of this.entries) {
      if (at > now - 240) break
      this.entries.delete(old)
    }
    demand(!this.entries.has(id), 'envelope.replayed', 'seen before')
    demand(this.entries.size < 100_000, 'envelope.replay_window_full', 'full means closed')
    this.entries.set(id, now)
  }
}
