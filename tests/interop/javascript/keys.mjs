// Ed25519 with raw 32-byte keys. Node.js takes keys in DER only; these prefixes are the fixed part of that form.

import { createPrivateKey, createPublicKey, sign as signBytes, verify as verifyBytes } from 'node:crypto'

const PRIVATE = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC = Buffer.from('302a300506032b6570032100', 'hex')

/** A signing key from its 32-byte seed: `{seed, secret, public}`. */
export function keyOf(seed) {
  const secret = createPrivateKey({ key: Buffer.concat([PRIVATE, seed]), format: 'der', type: 'pkcs8' })
  return { seed, secret, public: rawPublic(createPublicKey(secret)) }
}

export const rawPublic = (key) => key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC.length)

export const publicKey = (raw) => createPublicKey({ key: Buffer.concat([PUBLIC, raw]), format: 'der', type: 'spki' })

export const sign = (key, bytes) => signBytes(null, bytes, key.secret)

export function verify(raw, bytes, signature) {
  return signature.length === 64 && verifyBytes(null, bytes, publicKey(raw), signature)
}
