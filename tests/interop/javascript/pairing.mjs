// Pairing as the joiner (docs/protocol/pairing.md).

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { encode } from './cbor.mjs'
import { connect, nowSeconds, post, readLeaf, readRefusal } from './channel.mjs'
import { as, demand, MeshError } from './errors.mjs'
import { nodeId, sha256 } from './ids.mjs'
import { isGrants } from './grants.mjs'
import { checkAddress, parseInvite } from './invite.mjs'
import { readKeyLog } from './keylog.mjs'
import { sign, verify } from './keys.mjs'
import { bytes, exactly, list, optional, parse, text } from './records.mjs'

const NONCE_BYTES = 16
const isPrintable = (v) => text(64, 1)(v) && v === v.trim() && !/[\p{C}\p{Zl}\p{Zp}]/u.test(v)
const DESCRIPTION = {
  log: bytes(65_536),
  name: isPrintable,
  addresses: optional(list(text(), 8), []),
  grants: optional(isGrants, new Map()),
  asks: optional(isGrants, new Map()),
  nonce: optional(bytes(NONCE_BYTES), Buffer.alloc(0)),
}
const SIGNED = { body: bytes(), proof: exactly(32), signature: exactly(64) }

const hmac = (token, transcript) => createHmac('sha256', token).update(transcript).digest()

const joinTranscript = (inviterKey, leaf, body) => encode(['trailmesh-join-v1', inviterKey, sha256(leaf), body])
const answerTranscript = (request, leaf, body) =>
  encode(['trailmesh-join-answer-v1', sha256(request), sha256(leaf), body])

function signedBody(description, key, token, transcriptOf) {
  const body = encode(description)
  const transcript = transcriptOf(body)
  return encode({ body, proof: hmac(token, transcript), signature: sign(key, transcript) })
}

/** The self-description in `body` (bytes), with its key log neither frozen nor revoked. */
export function readDescription(body, { nonceBytes, now }) {
  const found = parse(body, DESCRIPTION)
  demand(found.nonce.length === nonceBytes, 'message.invalid', 'a nonce of another length')
  for (const address of found.addresses) checkAddress(address.replace(/^signed\+/, ''))
  const log = readKeyLog(found.log, now)
  demand(log.state === 'active', 'keylog.invalid', 'frozen or revoked')
  return { ...found, log, node: log.node, key: log.key }
}

/** The self-description in `raw`, once form, proof, fields, key log and signature are right. */
function openDescription(raw, { token, transcriptOf, ...bounds }) {
  const { body, proof, signature } = parse(raw, SIGNED)
  const transcript = transcriptOf(body)
  demand(timingSafeEqual(proof, hmac(token, transcript)), 'invite.refused', 'the proof is wrong')
  const found = readDescription(body, bounds)
  demand(verify(found.key, transcript, signature), 'invite.refused', 'signature')
  return found
}

/** Whom an inviter pairs with after `raw`, a request to its open invite; all failures but expiry look alike. */
export function openRequest(raw, { token, leaf, inviter, inviterKey, expires, now }) {
  demand(now < expires, 'invite.expired', 'expired')
  return as('invite.refused', () => {
    const transcriptOf = (body) => joinTranscript(inviterKey, leaf, body)
    const found = openDescription(raw, { token, transcriptOf, nonceBytes: NONCE_BYTES, now })
    demand(found.node !== inviter, 'invite.refused', 'our own node')
    return found
  })
}

/** The inviter, as its answer `raw` to `request` describes it. */
export function openAnswer(raw, request, leaf, inviterKey, invite) {
  const transcriptOf = (body) => answerTranscript(request, leaf, body)
  const found = as('peer.protocol', () => openDescription(raw, { token: invite.token, transcriptOf, nonceBytes: 0 }))
  const fits = found.node === invite.node && found.key.equals(inviterKey)
  demand(fits, 'peer.identity', 'another node answered')
  return found
}

/**
 * The inviter as a peer: `{node, key, log, name, addresses, grants}`. `own` is ours: log (bytes), name,
 * addresses, grants, and `key`, the witness key that signs.
 */
export async function join(pasted, { key, ...own }) {
  const invite = parseInvite(pasted, nowSeconds())
  const { host, port } = checkAddress(invite.address)
  const fits = (who) => (invite.key ? who.key.equals(invite.key) : nodeId(who.key) === invite.node)
  const check = (who) => demand(fits(who), 'peer.identity', 'the listener holds another key than the invite says')
  const leaf = await peek({ host, port, check }) // the transcript needs the leaf before the request is made
  const inviterKey = readLeaf(leaf).key
  const description = { ...own, nonce: randomBytes(NONCE_BYTES) }
  const request = signedBody(description, key, invite.token, (body) => joinTranscript(inviterKey, leaf.raw, body))
  const same = (who, again) => demand(again.raw.equals(leaf.raw), 'peer.identity', 'another certificate')
  const answer = await post({ host, port, check: same, path: '/pair/v1', body: request })
  if (answer.status !== 200) throw refusal(answer.body)
  return openAnswer(answer.body, request, leaf.raw, inviterKey, invite)
}

/** What an inviter may answer; anything else is no answer of an inviter. */
function refusal(body) {
  const { code } = readRefusal(body)
  return new MeshError(['invite.refused', 'invite.expired', 'peer.limit'].includes(code) ? code : 'peer.protocol')
}

async function peek(where) {
  const { socket, leaf } = await connect(where)
  socket.destroy()
  return leaf
}
