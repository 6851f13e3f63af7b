// Pairing as the joiner (docs/protocol/pairing.md).

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { encode } from './cbor.mjs'
import { connect, nowSeconds, post, readLeaf } from './channel.mjs'
import { demand } from './errors.mjs'
import { nodeId, sha256 } from './ids.mjs'
import { checkAddress, isScopes, parseInvite } from './invite.mjs'
import { readKeyLog } from './keylog.mjs'
import { sign, verify } from './keys.mjs'
import { bytes, exactly, list, parse, text } from './records.mjs'

const INTRODUCTION = { log: bytes(65_536), name: text(64, 1), addresses: list(text(), 8), grants: isScopes, nonce: bytes(16) }
const SIGNED = { body: bytes(), proof: exactly(32), signature: exactly(64) }

const hmac = (token, transcript) => createHmac('sha256', token).update(transcript).digest()

export const joinTranscript = (inviterKey, leaf, body) => encode(['trailmesh-join-v1', inviterKey, sha256(leaf), body])
export const answerTranscript = (request, leaf, body) =>
  encode(['trailmesh-join-answer-v1', sha256(request), sha256(leaf), body])

function signedBody(introduction, key, token, transcriptOf) {
  const body = encode(introduction)
  const transcript = transcriptOf(body)
  return encode({ body, proof: hmac(token, transcript), signature: sign(key, transcript) })
}

/** The introduction in `raw`, with its key log read: form, proof, fields, key log and signature are right. */
export function openIntroduction(raw, token, transcriptOf, code, now) {
  const { body, proof, signature } = parse(raw, SIGNED, { code })
  const transcript = transcriptOf(body)
  demand(timingSafeEqual(proof, hmac(token, transcript)), code, 'the proof is wrong')
  const found = parse(body, INTRODUCTION, { code })
  const log = readKeyLog(found.log, now)
  demand(log.state === 'active' && verify(log.key, transcript, signature), code, 'key log or signature')
  return { ...found, log }
}

/**
 * The inviter as a peer: `{node, key, log, name, addresses, grants}`. `introduce` is ours: log (bytes), name, addresses,
 * grants, and `key`, the witness key that signs.
 */
export async function join(pasted, { key, ...introduce }) {
  const now = nowSeconds()
  const invite = parseInvite(pasted, now)
  const { host, port } = checkAddress(invite.address)
  const fits = (who) => (invite.key ? who.key.equals(invite.key) : nodeId(who.key) === invite.node)
  const check = (who) => demand(fits(who), 'peer.identity', 'the listener holds another key than the invite says')
  const { leaf } = await peek({ host, port, check }) // the transcript needs the leaf before the request is made
  const inviterKey = readLeaf(leaf).key
  const introduction = { ...introduce, nonce: randomBytes(16) }
  const request = signedBody(introduction, key, invite.token, (body) => joinTranscript(inviterKey, leaf.raw, body))
  const same = (who, again) => demand(again.raw.equals(leaf.raw), 'peer.identity', 'another certificate')
  const answer = await post({ host, port, check: same, path: '/pair/v1', body: request })
  demand(answer.status === 200, 'invite.refused', answer.body.toString('latin1').slice(0, 200))
  const transcriptOf = (body) => answerTranscript(request, leaf.raw, body)
  const found = openIntroduction(answer.body, invite.token, transcriptOf, 'invite.refused', now)
  demand(found.log.node === invite.node && found.log.key.equals(inviterKey), 'peer.identity', 'another node answered')
  return { ...found, node: found.log.node, key: found.log.key }
}

async function peek(where) {
  const { socket, leaf } = await connect(where)
  socket.destroy()
  return { leaf }
}
