// What of a step went wrong: requests, dialogs and tabs (docs/protocol/replay.md).

import { ANSWER, DIALOG, EXPECT, FAULT } from './bundle.mjs'
import { read } from './records.mjs'

/** What is wrong with the requests of a step: those that went wrong unexpectedly, and those that should have. */
function wrongRequests(faults, expect) {
  const [met, wants] = [faults.map((fault) => read(fault, FAULT)), expect === null ? null : read(expect, EXPECT)]
  const expected = ({ fault, status }) => wants && (fault === 'status' ? status === wants.status : wants[fault])
  const says = {
    refused: ({ request }) => `the guard refused ${request}`,
    status: ({ request, status }) => `${request} was answered with ${status}`,
    failed: ({ request }) => `${request} failed`,
    open: ({ request }) => `${request} was not answered by the end of the step`,
  }
  const wrong = met.filter((fault) => !expected(fault)).map((fault) => says[fault.fault](fault))
  const absent = (kind) => wants?.[kind] && !met.some((fault) => fault.fault === kind && expected(fault))
  if (absent('status')) wrong.push(`no request was answered with ${wants.status}, as expected`)
  if (absent('refused')) wrong.push('no request was refused, as expected')
  if (absent('failed')) wrong.push('no request failed, as expected')
  if (absent('open')) wrong.push('no request was left open, as expected')
  return wrong
}

export const fold = (said) => said.split(/\s+/u).filter(Boolean).join(' ')

/** The dialogs that a step was not meant to cause. */
function wrongDialogs(dialogs, expect) {
  const answer = expect === null ? null : read(expect, EXPECT).dialog
  const wants = answer && read(answer, ANSWER)
  const met = dialogs.map((dialog) => read(dialog, DIALOG))
  const isMeant = ({ kind, message, accepted }) =>
    wants &&
    wants.kind === kind &&
    (kind === 'alert' || accepted === wants.accept) &&
    fold(message).includes(fold(wants.text))
  const meant = met.findIndex(isMeant)
  return met.filter((_, place) => place !== meant).map((dialog) => `unexpected dialog: ${describe(dialog)}`)
}

export const describe = ({ kind, message, accepted }) =>
  `${kind}${message && ` “${fold(message)}”`}, ${accepted ? 'accepted' : 'dismissed'}`

const wrongTab = (tab, expect) =>
  expect !== null && read(expect, EXPECT).tab && !tab ? ['no new tab was opened, as expected'] : []
/** What a step caused that it was not meant to, and the other way round. */
export const wrong = ({ faults, dialogs, tab }, expect) => [
  ...wrongRequests(faults, expect),
  ...wrongDialogs(dialogs, expect),
  ...wrongTab(tab, expect),
]
