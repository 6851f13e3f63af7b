// Node ids and other ids with check digits (docs/protocol/ids.md).

import { createHash, randomBytes } from 'node:crypto'
import { demand } from './errors.mjs'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export const sha256 = (...parts) =>
  createHash('sha256')
    .update(Buffer.concat(parts.map((p) => Buffer.from(p))))
    .digest()

/** SHA-256 over a domain string, a zero byte and the parts: how this protocol hashes nearly everything. */
export const hashIn = (domain, ...parts) => sha256(domain, [0], ...parts)

function base32(bytes) {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return bits
    .match(/.{1,5}/g)
    .map((five) => ALPHABET[parseInt(five.padEnd(5, '0'), 2)])
    .join('')
}

/** Luhn mod 32. */
function checkDigit(characters) {
  let [factor, sum] = [1, 0]
  for (const character of characters) {
    const product = factor * ALPHABET.indexOf(character)
    sum += Math.floor(product / 32) + (product % 32)
    factor = 3 - factor
  }
  return ALPHABET[(32 - (sum % 32)) % 32]
}

/** The node id of a node's first public key (32 bytes). */
export function nodeId(publicKey) {
  const parts = base32(hashIn('trailmesh-node-v1', publicKey)).match(/.{13}/g)
  return parts
    .map((part) => part + checkDigit(part))
    .join('')
    .match(/.{7}/g)
    .join('-')
}

/** A node id as a person wrote it, in canonical form. */
export function parseNodeId(text) {
  const characters = text.toUpperCase().replace(/[\s-]/g, '')
  demand(/^[A-Z2-7]{56}$/.test(characters), 'id.invalid', 'a node id has 56 characters of base32')
  for (const part of characters.match(/.{14}/g)) {
    demand(checkDigit(part.slice(0, 13)) === part[13], 'id.invalid', 'a check digit is wrong')
  }
  return characters.match(/.{7}/g).join('-')
}

export function isNodeId(value) {
  try {
    return typeof value === 'string' && !/[\n\r]/.test(value) && parseNodeId(value) === value
  } catch {
    return false
  }
}

/** Whether a value is an id of `kind` in its canonical form. */
export const isId = (kind) => (value) => {
  if (typeof value !== 'string' || !/^[a-z]{3}-[A-Z2-7]{21}$/.test(value)) return false
  return value.startsWith(`${kind}-`) && checkDigit(value.slice(4, -1)) === value.at(-1)
}

/** A fresh id of another kind: `lea` for a lease, `sea` for a search … */
export const freshId = (kind) => ownId(kind, randomBytes(13))

/** The id of another kind that begins with these bytes: 100 bits of them count. */
export function ownId(kind, bytes) {
  const characters = base32(bytes.subarray(0, 13)).slice(0, 20)
  return `${kind}-${characters}${checkDigit(characters)}`
}
