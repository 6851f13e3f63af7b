// Replays: how texts compare, and which reports are believed (docs/protocol/replay.md).

import { decode } from './cbor.mjs'
import { as, demand } from './errors.mjs'
import { isId, isNodeId } from './ids.mjs'
import { among, bool, exactly, list, optional, read, record, text, whole } from './records.mjs'

const TEXTS = ['same', 'numbers', 'differs']
const MATCH = {
  index: whole(),
  performed: bool,
  state: bool,
  url: bool,
  title: bool,
  extracted: bool,
  matched: bool,
  duration_ms: whole(),
  text: optional(among('', ...TEXTS), ''),
  error: optional(text(), ''),
}
const REPORT = {
  id: isId('rep'),
  session: isId('ses'),
  manifest: exactly(32),
  node: isNodeId,
  replayed_ms: whole(),
  browser: record({ backend: text(), name: text(), version: text() }),
  steps: list(record(MATCH)),
  matched: whole(),
  verdict: among('open', 'pass', 'partial', 'fail', 'interrupted'),
  duration_ms: whole(),
  blocked: optional(list(text()), []),
  origin: optional(text(), ''),
}

/** How the text of a page compares with the one that was recorded. */
export function compareText(recorded, met) {
  if (recorded === met) return 'same'
  const withoutNumbers = (said) => said.replace(/[0-9]+(?:[.,][0-9]+)*/g, '\0')
  return withoutNumbers(recorded) === withoutNumbers(met) ? 'numbers' : 'differs'
}

/** What a page that was met at `origin` would say where it was recorded. */
export function atHome(met, origin, recordedOrigin) {
  const [first, ...rest] = met.split(origin)
  const goesOn = (after) => /^(?:[\p{L}\p{N}_-]|[.:][\p{L}\p{N}_-])/u.test(after)
  return rest.reduce((said, after) => said + (goesOn(after) ? origin : recordedOrigin) + after, first)
}

const originOf = (url) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(url)?.[0].toLowerCase() ?? ''

function isOtherOrigin(origin, startUrl) {
  if (origin === '') return true
  const isPlain = /^https?:\/\/[^/?#@\s]+$/.test(origin) && origin === origin.toLowerCase()
  return isPlain && origin !== originOf(startUrl)
}

const verdictOf = (done, total) => (total && done === total ? 'pass' : done ? 'partial' : 'fail')

/** The report in `raw`, if it fits the recording: `session`, `steps` and digest of the `manifest` of a bundle. */
export function readReport(raw, { session, steps, manifest }) {
  const check = (ok, why) => demand(ok, 'report.invalid', why)
  const report = as('report.invalid', () => read(decode(raw), REPORT))
  check(report.session === session.get('id') && report.manifest.equals(manifest), 'about another recording')
  check(isOtherOrigin(report.origin, session.get('start_url')), 'its origin')
  const matches = report.steps.map((match) => read(match, MATCH))
  const expected = steps.filter(({ ok }) => ok)
  check(
    matches.length <= expected.length && matches.every(({ index }, i) => index === expected[i].index),
    'not the steps of the recording',
  )
  matches.forEach((match, i) => {
    const { performed, state, url, title, extracted, matched, error } = match
    check(matched === (performed && state && url && title && extracted), `step ${match.index}: matched`)
    check(performed === (error === ''), `step ${match.index}: performed`)
    check((match.text !== '') === (performed && expected[i].snapshot.length > 0), `step ${match.index}: text`)
  })
  // A soft assertion that failed is the one step that may be left behind.
  const goesOn = ({ performed, error }, { action }) =>
    performed || (action.get('soft') === true && error === 'action.assertion_failed')
  check(
    matches.slice(0, -1).every((match, i) => goesOn(match, expected[i])),
    'it goes on after a step that failed',
  )
  check(
    matches.length === expected.length || (matches.length > 0 && !goesOn(matches.at(-1), expected[matches.length - 1])),
    'it ends early',
  )
  const count = matches.filter(({ matched }) => matched).length
  check(report.matched === count && report.verdict === verdictOf(count, expected.length), 'count or verdict')
  const counts = TEXTS.map((kind) => [kind, matches.filter(({ text: found }) => found === kind).length])
  return { matched: count, text: Object.fromEntries(counts) }
}
