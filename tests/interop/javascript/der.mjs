// The little of X.509 that a channel certificate needs, in DER (docs/protocol/channel.md, RFC 5280).

import { createHash, randomBytes } from 'node:crypto'
import { sign } from './keys.mjs'

const tlv = (tag, ...parts) => {
  const body = Buffer.concat(parts)
  const size =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}
const sequence = (...parts) => tlv(0x30, ...parts)
const set = (...parts) => tlv(0x31, ...parts)
const octets = (bytes) => tlv(0x04, bytes)
const bits = (bytes, unused = 0) => tlv(0x03, Buffer.from([unused]), bytes)
const integer = (bytes) => tlv(0x02, bytes)
const utf8 = (string) => tlv(0x0c, Buffer.from(string))
const explicit = (number, ...parts) => tlv(0xa0 | number, ...parts)
const TRUE = tlv(0x01, Buffer.from([0xff]))

function oid(dotted) {
  const [first, second, ...rest] = dotted.split('.').map(Number)
  const sevens = (n) => (n < 128 ? [n] : [...sevens(n >> 7).map((byte) => byte | 0x80), n & 127])
  return tlv(0x06, Buffer.from([40 * first + second, ...rest.flatMap(sevens)]))
}

const ED25519 = sequence(oid('1.3.101.112'))
const attribute = (type, value) => set(sequence(oid(type), utf8(value)))
const extension = (type, critical, value) => sequence(oid(type), ...(critical ? [TRUE] : []), octets(value))

/** `YYMMDDhhmmssZ`: right until 2049, as RFC 5280 has it. */
const utcTime = (seconds) =>
  tlv(
    0x17,
    Buffer.from(
      new Date(seconds * 1000)
        .toISOString()
        .replace(/[-:T]|\.\d+/g, '')
        .slice(2),
    ),
  )

/** A channel certificate (DER): `witness` vouches for `channelPublic` from `starts` to `ends`, in seconds. */
export function channelCertificate({ witness, node, channelPublic, starts, ends }) {
  const serial = randomBytes(16)
  serial[0] = (serial[0] & 0x7f) | 0x40 // positive, and of one length
  const issuer = sequence(attribute('2.5.4.11', witness.public.toString('hex')), attribute('2.5.4.3', node))
  const keyName = createHash('sha1').update(witness.public).digest()
  const extensions = [
    extension('2.5.29.19', true, sequence()), // basic constraints: no CA
    extension('2.5.29.15', true, bits(Buffer.from([0x80]), 7)), // key usage: digital signature
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'), oid('1.3.6.1.5.5.7.3.2'))), // server and client
    extension('2.5.29.17', false, sequence(tlv(0x82, Buffer.from('channel.trailmesh.invalid')))),
    extension('2.5.29.35', false, sequence(tlv(0x80, keyName))), // authority key identifier
  ]
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    ED25519,
    issuer,
    sequence(utcTime(starts), utcTime(ends)),
    sequence(attribute('2.5.4.3', 'channel')),
    sequence(ED25519, bits(channelPublic)),
    explicit(3, sequence(...extensions)),
  )
  return sequence(body, ED25519, bits(sign(witness, body)))
}

export const pem = (label, der) =>
  `-----BEGIN ${label}-----\n${der
    .toString('base64')
    .match(/.{1,64}/g)
    .join('\n')}\n-----END ${label}-----\n`
