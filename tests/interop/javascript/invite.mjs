// Invites (docs/protocol/pairing.md): the one string that lets two nodes pair.

import { isIP } from 'node:net'
import { encode } from './cbor.mjs'
import { as, demand } from './errors.mjs'
import { checkVersion } from './formats.mjs'
import { isGrants } from './grants.mjs'
import { hashIn, isNodeId } from './ids.mjs'
import { exactly, optional, parse, text, whole } from './records.mjs'

const PREFIX = 'tmi1.'
const CHARS_MAX = 1024
const INVITE = {
  address: text(),
  node: isNodeId,
  token: exactly(16),
  expires_s: whole(),
  grants: optional(isGrants, new Map()),
  key: optional(exactly(32), null),
}

const checksum = (raw) => hashIn('trailmesh-invite-v1', raw).subarray(0, 4)

export function encodeInvite(invite) {
  const raw = encode(invite)
  return PREFIX + Buffer.concat([raw, checksum(raw)]).toString('base64url')
}

/** The invite in `pasted`, if it has not expired at `now` (seconds). */
export function parseInvite(pasted, now) {
  const string = pasted.replace(/\s/g, '')
  demand(!/^https?:/.test(string), 'invite.url', 'an address alone never pairs')
  const named = /^tmi([1-9][0-9]{0,5})\./.exec(string)
  if (named) checkVersion('invite', Number(named[1]))
  demand(string.length <= CHARS_MAX && string.startsWith(PREFIX), 'invite.invalid', 'no invite')
  const digits = string.slice(PREFIX.length)
  const bytes = Buffer.from(digits, 'base64url')
  demand(bytes.toString('base64url') === digits, 'invite.invalid', 'not base64url')
  const raw = bytes.subarray(0, -4)
  demand(checksum(raw).equals(bytes.subarray(-4)), 'invite.invalid', 'wrong checksum')
  const invite = as('invite.invalid', () => parse(raw, INVITE))
  checkAddress(invite.address)
  demand(now < invite.expires_s, 'invite.expired', 'expired')
  return invite
}

/** Host and port of an address a peer is called at. */
export function checkAddress(address) {
  const found = /^https:\/\/(\[[0-9a-f:]+\]|[a-z0-9.-]+):([1-9][0-9]{0,4})$/.exec(address)
  demand(found && Number(found[2]) <= 65_535, 'invite.url', 'no https://host:port')
  const host = found[1].replace(/[[\]]/g, '')
  const numeric = found[1].startsWith('[') || /(^|\.)(0x[0-9a-f]*|[0-9]+)$/.test(host)
  demand(!numeric || isIP(host), 'invite.url', 'no plain IP address')
  return { host, port: Number(found[2]) }
}
