// What a peer may do here: scopes, each with the origins it is for (docs/protocol/pairing.md, Grants).

import { isIP } from 'node:net'
import { list, mapOf, text } from './records.mjs'

const SCOPES = [
  'attest:consume',
  'branch:accept',
  'branch:assign',
  'capsule:import',
  'capsule:offer',
  'deltas:read',
  'deltas:write',
  'login:read',
  'login:use',
  'peers:read',
  'session:read',
]
const ORIGINS_MAX = 16
const PATTERN = /^(https?):\/\/(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(:[1-9][0-9]{0,4})?$/

/** The form that a record demands of grants; `isGrants` holds them against the rest. */
export const GRANT_MAP = mapOf(list(text(300), ORIGINS_MAX, 1), SCOPES.length)

/** Whether `text` is a pattern in its one form. */
function isPattern(text) {
  if (text === '*') return true
  const found = PATTERN.exec(text)
  if (!found || text.includes('..')) return false
  const [, scheme, wild, host, port] = found
  const numeric = host.startsWith('[') || /(^|\.)([0-9]+|0x[0-9a-f]*)$/.test(host)
  if (numeric && (wild || !isIP(host.replace(/[[\]]/g, '')))) return false
  if (host.startsWith('[') && new URL(`http://${host}`).hostname !== host) return false // not compressed
  const number = Number(port?.slice(1) ?? 1)
  return number <= 65_535 && port !== (scheme === 'https' ? ':443' : ':80')
}

/** Whether one of `patterns` names `origin`, or all that the pattern `origin` names. */
export function covers(patterns, origin) {
  return patterns.some((pattern) => {
    if (pattern === '*' || pattern === origin) return true
    const [scheme, domain] = pattern.split('://*.')
    return domain !== undefined && origin.startsWith(`${scheme}://`) && origin.endsWith(`.${domain}`)
  })
}

/** Known scopes; of each, patterns in their one form, sorted, none within another. */
export function isGrants(map) {
  return GRANT_MAP(map) && [...map].every(([scope, patterns]) => SCOPES.includes(scope) && isOrigins(patterns))
}

export const isOrigins = (patterns) =>
  patterns.every((one, i) => {
    const others = [...patterns.slice(0, i), ...patterns.slice(i + 1)]
    return isPattern(one) && (i === 0 || patterns[i - 1] < one) && !covers(others, one)
  })

/** Whether `grants` (a Map) allow `scope`, at the origin of `url` if one is given. */
export function allow(grants, scope, url = null) {
  const patterns = grants.get(scope)
  return patterns !== undefined && (url === null || covers(patterns, originOf(url)))
}

function originOf(url) {
  try {
    return new URL(url).origin
  } catch {
    return ''
  }
}
