// Approvals: an owner's signed answer to one question (docs/protocol/approval.md).

import { decode } from './cbor.mjs'
import { open } from './envelope.mjs'
import { demand } from './errors.mjs'
import { hashIn, isId, isNodeId, ownId } from './ids.mjs'
import { among, bool, exactly, optional, parse, whole } from './records.mjs'

const BYTES_MAX = 16 * 1024
const FRESH_S = 3_600
const DAYS_MAX = 90

const APPROVAL = {
  node: isNodeId,
  question: isId('que'),
  digest: exactly(32),
  yes: bool,
  scope: optional(among('once', 'search', 'site'), 'once'),
  expires_ms: whole(),
}

export const ownerId = (publicKey) => ownId('own', hashIn('trailmesh-owner-v1', publicKey))
export const digestOf = (question) => hashIn('trailmesh-question-v2', question)

/** A path with its ids replaced. */
export function pathForm(path) {
  if (/%2f|%5c|\\/i.test(path)) return path
  return path.split('/').map(segment).join('/')
}

function segment(text) {
  if (/^[0-9]{1,20}$/.test(text)) return '{n}'
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return '{id}'
  return /^[0-9a-f]{12,64}$/i.test(text) && /[0-9]/.test(text) ? '{id}' : text
}

/**
 * The approval in `sealed`, if it answers the question of these bytes now. `owners`: the active ones, each with `id`, `key` and
 * `level_max`. `now`: in seconds.
 */
export function openApproval(sealed, question, { owners, now }) {
  const find = (id) => owners.filter((owner) => owner.id === id)
  const keysOf = (issuer) => find(issuer).map((owner) => owner.key)
  const opened = open(sealed, { kinds: ['approval'], keysOf, bytesMax: BYTES_MAX })
  const approval = parse(opened.payload, APPROVAL)
  const asked = decode(question)
  const fits = (condition, reason) => demand(condition, 'approval.invalid', reason)
  fits(approval.node === asked.get('node') && approval.question === asked.get('id'), 'another question')
  fits(approval.digest.equals(digestOf(question)), 'the question was another one')
  const issued = Number(opened.issued)
  fits(Math.abs(issued - now) <= FRESH_S, 'signed at another time')
  const expires = Number(approval.expires_ms)
  fits(expires > issued * 1000 && expires <= (issued + DAYS_MAX * 86_400) * 1000, 'an expiry out of bounds')
  if (approval.yes) {
    demand(Number(asked.get('level')) <= find(opened.issuer)[0].level_max, 'owner.refused', 'a higher class')
    fits(approval.scope !== 'search' || asked.get('search'), 'no search asked')
    const unread = asked.get('requests').some((form) => form.get('body') === 'unread')
    fits(approval.scope === 'once' || !unread, 'a body was not read')
  }
  return approval
}
