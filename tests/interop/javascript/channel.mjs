// The channel between peers: mutual TLS 1.3, keys pinned by hand (docs/protocol/channel.md).

import { constants, generateKeyPairSync, X509Certificate } from 'node:crypto'
import https from 'node:https'
import tls from 'node:tls'
import { decode } from './cbor.mjs'
import { channelCertificate, pem } from './der.mjs'
import { mediaType } from './envelope.mjs'
import { as, demand, MeshError } from './errors.mjs'
import { publicKey, rawPublic } from './keys.mjs'

const LIFE_MAX_S = 11 * 86_400
const DAY_S = 86_400
const TIMEOUT_MS = 30_000
const REFUSAL_BYTES_MAX = 16 * 1024
const TLS = { minVersion: 'TLSv1.3', rejectUnauthorized: false, secureOptions: constants.SSL_OP_NO_TICKET }

export const nowSeconds = () => Math.floor(Date.now() / 1000)

/** What TLS needs to show who we are: a fresh channel key and the witness key's certificate for it. */
export function channelIdentity(witness, node, now = nowSeconds()) {
  const pair = generateKeyPairSync('ed25519')
  const certificate = channelCertificate({
    witness,
    node,
    channelPublic: rawPublic(pair.publicKey),
    starts: now - 4 * DAY_S,
    ends: now + 7 * DAY_S,
  })
  return { key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: pem('CERTIFICATE', certificate) }
}

/** The certificate in `raw` (DER). */
export function parseLeaf(raw) {
  try {
    return new X509Certificate(raw)
  } catch {
    throw new MeshError('peer.identity', 'no certificate')
  }
}

/** Who a leaf certificate says it is, once its signature by the key it names and its times are right. */
export function readLeaf(leaf, now = nowSeconds()) {
  demand(leaf, 'peer.identity', 'no certificate')
  const issuer = /^OU=([0-9a-f]{64})\nCN=([A-Z2-7-]{63})$/.exec(leaf.issuer)
  demand(issuer && leaf.subject === 'CN=channel' && !leaf.ca, 'peer.identity', 'no channel certificate')
  const key = Buffer.from(issuer[1], 'hex')
  demand(leaf.verify(publicKey(key)), 'peer.identity', 'not signed by the key it names')
  const [from, until] = [leaf.validFrom, leaf.validTo].map((time) => Date.parse(time) / 1000)
  const within = from <= now && now < until && until - from <= LIFE_MAX_S
  demand(within, 'peer.identity', 'outside of its time')
  return { key, node: issuer[2] }
}

/** A TLS connection whose leaf passed `check(who, leaf)`; nothing is sent before. */
export function connect({ host, port, identity = {}, check }) {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host, port, ...TLS, ...identity })
    const unreachable = (error) =>
      reject(error.code?.includes('.') ? error : new MeshError('peer.unreachable', error.message))
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')))
    socket.once('error', unreachable)
    socket.once('secureConnect', () => {
      try {
        const leaf = parseLeaf(socket.getPeerCertificate().raw)
        check(readLeaf(leaf), leaf)
        resolve({ socket, leaf })
      } catch (error) {
        socket.destroy()
        reject(error)
      }
    })
  })
}

/** One POST over a fresh connection: status and body of the answer. */
export async function post({ path, body, contentType, ...where }) {
  const { socket, leaf } = await connect(where)
  return new Promise((resolve, reject) => {
    const refusedUs = (error) => reject(new MeshError('peer.refused_us', error.message))
    const headers = { 'Content-Length': body.length, Host: `${where.host}:${where.port}` }
    if (contentType) headers['Content-Type'] = contentType
    const request = https.request({ method: 'POST', path, headers, createConnection: () => socket }, (response) => {
      const parts = []
      response.on('data', (part) => parts.push(part))
      response.on('error', refusedUs)
      response.on('end', () => {
        socket.destroy()
        resolve({ status: response.statusCode, body: Buffer.concat(parts), leaf })
      })
    })
    request.on('error', refusedUs)
    request.end(body)
  })
}

/** The answer to `envelope` on a route of a peer whose present key is `key`; its refusal is thrown with its code. */
export async function call({ host, port, identity, key, route, envelope }) {
  const check = (who) => demand(who.key.equals(key), 'peer.identity', 'another key')
  const path = `/peer/v1/${route}`
  const { status, body } = await post({
    host,
    port,
    identity,
    check,
    path,
    body: envelope,
    contentType: mediaType('message'),
  })
  if (status !== 200) throw readRefusal(body)
  return decode(body)
}

/** The error that the body of a refusal names. More fields than these are for people who look at the wire. */
export function readRefusal(body) {
  const answer = as('peer.protocol', () => decode(body, { bytesMax: REFUSAL_BYTES_MAX }))
  const named = answer instanceof Map && /^[a-z]+\.[a-z_]+$/.test(answer.get('code'))
  demand(named, 'peer.protocol', 'an unreadable refusal')
  return new MeshError(answer.get('code'), answer.get('message'), Object.fromEntries(answer.get('detail') ?? []))
}

/**
 * A listener for peers. `trusted(key)` names the peer whose present key this is, or null: then the connection ends.
 * `answer(peer, path, contentType, body)` gives `{status, body}`.
 */
export function listen({ identity, trusted, answer, host = '127.0.0.1', port = 0 }) {
  const who = (socket) => trusted(readLeaf(socket.getPeerX509Certificate()).key)
  const server = https.createServer({ ...TLS, ...identity, requestCert: true }, async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    const { status, body } = await answer(
      who(request.socket),
      request.url,
      request.headers['content-type'],
      Buffer.concat(parts),
    )
    response.writeHead(status, { 'Content-Type': 'application/cbor', 'Content-Length': body.length }).end(body)
  })
  server.on('secureConnection', (socket) => {
    try {
      demand(who(socket), 'peer.unknown', 'not a peer')
    } catch {
      socket.destroy()
    }
  })
  return new Promise((resolve) => server.listen(port, host, () => resolve(server)))
}
