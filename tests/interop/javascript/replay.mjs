// Replays: how texts compare, and which reports are believed (docs/protocol/replay.md).

import { DIALOG, DOWNLOAD, FAULT } from './bundle.mjs'
import { decode } from './cbor.mjs'
import { as, demand } from './errors.mjs'
import { describe, fold, wrong } from './faults.mjs'
import { isId, isNodeId } from './ids.mjs'
import { among, bool, exactly, list, optional, read, record, text, whole } from './records.mjs'

const TEXTS = ['same', 'masked', 'numbers', 'differs']
const LEVELS = ['performed', 'asserted', 'structure', 'text']
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
  held: optional(bool, true),
  faults: optional(list(record(FAULT), 50), []),
  dialogs: optional(list(record(DIALOG), 20), []),
  downloads: optional(list(record(DOWNLOAD), 20), []),
  tab: optional(bool, false),
  alert: optional(among('', 'alert', 'alertdialog', 'status'), ''),
  unsent: optional(list(whole(31), 32), []),
}
const CHANGED = { name: text(64, 1), recorded: text(1024), value: text(1024) }
const DIFFERENCE = {
  step: whole(),
  what: among('address', 'title', 'extracted', 'text', 'action', 'assertion', 'alert', 'sent'),
  recorded: text(),
  met: text(),
  also: optional(list(whole()), []),
  place: optional(text(), ''),
  note: optional(text(), ''),
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
  level: optional(among(...LEVELS), 'text'),
  strict: optional(bool, false),
  reason: optional(text(400), ''),
  inputs: optional(list(record(CHANGED), 32), []),
  differences: optional(list(record(DIFFERENCE), 100), []),
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

/** Whether a step equals the recording at a level, and at those before it. */
function holds({ performed, held, alert, url, state, title, extracted, text: said }, level, strict) {
  const sameText = ['', 'same'].includes(said) || (said === 'masked' && !strict)
  const tests = [
    performed,
    held && alert === '',
    url && (state || said === 'numbers' || (said !== '' && sameText)),
    title && extracted && sameText,
  ]
  return tests.slice(0, LEVELS.indexOf(level) + 1).every(Boolean)
}

/** Which dialogs say something else than those that were recorded. */
function otherDialogs(step, match) {
  const [had, has] = [step, match].map(({ dialogs }) => dialogs.map((one) => read(one, DIALOG)))
  const says = (dialog) => dialog && `${dialog.kind} ${fold(dialog.message)}`
  const other = has.filter((dialog, place) => says(dialog) !== says(had[place]))
  if (other.length === 0 && had.length > has.length) return ['no dialog, as recorded']
  return other.map((dialog) => `another dialog: ${describe(dialog)}`)
}

function newFaults(match, step) {
  const before = wrong(step, step.expect)
  const fresh = wrong(match, step.expect).filter((said) => !before.includes(said))
  const [had, has] = [step, match].map(({ downloads }) => downloads.map((one) => read(one, DOWNLOAD)))
  const [due, left] = [step.effects.length, match.unsent.length]
  const unsent = left ? [`it sent ${due - left} of ${due} requests that change something`] : []
  return [...unsent, ...fresh, ...otherDownloads(had, has)]
}

/** Which downloads are missing, or came in addition. */
function otherDownloads(recorded, met) {
  const [had, has] = [recorded, met].map((all) => all.filter(({ fault }) => !fault).map(({ name }) => name.replace(/[0-9]+/g, '#')))
  const without = (some, others) => {
    const left = [...others]
    const rest = some.filter((name) => !left.includes(name) || (left.splice(left.indexOf(name), 1), false))
    return [...new Set(rest)]
  }
  return [
    ...without(had, has).map((name) => `no download of “${name}”`),
    ...without(has, had).map((name) => `unexpected download of “${name}”`),
  ]
}

function sameContent(step, match) {
  const hashes = ({ downloads }) => downloads.map((one) => read(one, DOWNLOAD).sha256.toString('hex')).sort().join()
  return hashes(step) === hashes(match)
}

/** Why a step does not match, in words. */
function difference(match, step, strict) {
  if (!match.performed) return `not performed (${match.error})`
  const [fault] = newFaults(match, step)
  if (fault) return fault
  if (holds(match, 'text', strict)) return otherDialogs(step, match)[0] ?? 'another content of the download'
  const first = LEVELS.find((level) => !holds(match, level, strict))
  if (first === 'asserted' && match.alert) return `a new ${match.alert} on the page`
  if (first === 'asserted') return match.extracted ? 'the assertion did not hold' : 'another extracted value'
  if (first === 'structure') return match.url ? 'other controls or headings' : 'other address'
  if (!['', 'same', 'masked'].includes(match.text) || (strict && match.text === 'masked'))
    return match.text === 'numbers' ? 'other numbers in the text' : 'other text'
  return match.title ? 'other extracted text' : 'other title'
}

/** Verdict and reason of a replay. */
function judge(session, expected, matches, strict) {
  const bad = matches.findIndex(({ matched }) => !matched)
  const said = session.get('reason') ?? ''
  let reason = ''
  if (bad >= 0) reason = `step ${matches[bad].index}: ${difference(matches[bad], expected[bad], strict)}`
  else if (matches.length < expected.length) reason = 'not every step was performed'
  else if (!expected.length) reason = 'the recording has no step to perform'
  else if (session.get('verdict') !== 'pass' || session.get('skipped')?.length) reason = `the recording did not pass${said && ': '}${said}`
  const verdict = reason === '' ? 'pass' : matches.some(({ performed }) => performed) ? 'partial' : 'fail'
  return [verdict, [...reason].slice(0, 400).join('')]
}

/** The recorded value of an input, or of the text that the step of this number types or chooses; null if it has none. */
function recordedValue(session, expected, name) {
  const named = (session.get('inputs') ?? []).find((input) => input.get('name') === name)
  if (named) return named.get('value')
  const action = expected.find(({ index }) => String(index) === name)?.action
  const typed = { fill: 'value', select: 'option' }[action?.get('type')]
  const said = typed && action.get(typed)
  if (typeof said !== 'string' || [...said].length > 1024) return null
  return /\$\{[^{}$]{1,64}\}|REDACTED|‹secret:/.test(said) ? null : said
}

/** The changed inputs are those of the recording, and differences stand in a report only because of them. */
function checkInputs({ inputs, differences }, session, expected, matches, check) {
  const changed = inputs.map((input) => read(input, CHANGED))
  check(
    changed.every(({ name }, i) => i === 0 || Buffer.compare(Buffer.from(changed[i - 1].name), Buffer.from(name)) < 0),
    'inputs by name',
  )
  for (const { name, recorded, value } of changed) {
    check(recordedValue(session, expected, name) === recorded && value !== recorded, `the input ${name}`)
  }
  const told = differences.map((found) => read(found, DIFFERENCE)).flatMap(({ step, also }) => [step, ...also])
  check(differences.length === 0 || changed.length > 0, 'differences without another input')
  check(
    told.every((step) => matches.some(({ index }) => index === step)),
    'differences of no step',
  )
}

/** An extract holds exactly if its value is the recorded one, or is not compared. */
const isExtractSound = (action, { held, extracted }) =>
  action.get('type') !== 'extract' || (held === extracted && (extracted || action.get('compare') !== 'none'))

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
    const { performed, matched, error } = match
    const same = sameContent(expected[i], match) && otherDialogs(expected[i], match).length === 0
    const content = report.level !== 'text' || same
    const whole = content && holds(match, report.level, report.strict) && newFaults(match, expected[i]).length === 0
    check(matched === whole, `step ${match.index}: matched`)
    check(performed === (error === ''), `step ${match.index}: performed`)
    check(
      match.unsent.every((place, at) => place < expected[i].effects.length && (at === 0 || match.unsent[at - 1] < place)),
      `step ${match.index}: unsent`,
    )
    check(match.alert === '' || ['numbers', 'differs'].includes(match.text), `step ${match.index}: alert`)
    check((match.text !== '') === (performed && expected[i].snapshot.length > 0), `step ${match.index}: text`)
    check(!performed || isExtractSound(expected[i].action, match), `step ${match.index}: extract`)
  })
  // An assertion that failed ends a replay, unless it is soft.
  const goesOn = ({ performed, held }, { action }) =>
    performed && (held || action.get('type') !== 'assert' || action.get('soft') === true)
  check(
    matches.slice(0, -1).every((match, i) => goesOn(match, expected[i])),
    'it goes on after a step that failed',
  )
  check(
    matches.length === expected.length || (matches.length > 0 && !goesOn(matches.at(-1), expected[matches.length - 1])),
    'it ends early',
  )
  const count = matches.filter(({ matched }) => matched).length
  const [verdict, reason] = judge(session, expected, matches, report.strict)
  check(report.matched === count, 'count')
  check(report.verdict === verdict && report.reason === reason, 'verdict or reason')
  checkInputs(report, session, expected, matches, check)
  const counts = TEXTS.map((kind) => [kind, matches.filter(({ text: found }) => found === kind).length])
  return { matched: count, text: Object.fromEntries(counts) }
}
