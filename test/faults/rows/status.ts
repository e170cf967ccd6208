/** F17–F33: errors by status, and errors inside a 2xx. */

import {
  everywhere,
  fine,
  halfDone,
  mayHaveRun,
  noContent,
  notRun,
  refused,
  timedOut,
} from '../classes.ts';
import {
  apiOf,
  dialectOf,
  type ErrorForm,
  errorFormOf,
  type Kind,
  kinds,
  replyOf,
  streamKinds,
  wholeKinds,
} from '../kinds.ts';
import { ends, reads, type Script, sends } from '../raw-upstream.ts';
import { answer, head, leaking, refuses } from '../responses.ts';
import type { Circumstances, ExpectedOfKinds, FaultRow } from './row.ts';

/** A row on every kind and mount. */
function row(
  id: string,
  fault: string,
  upstream: FaultRow['upstream'],
  expected: ExpectedOfKinds,
  circumstances: Circumstances = {},
): FaultRow {
  return { id, fault, ...everywhere, upstream, expected, circumstances };
}

const mendable: Circumstances = { forwardsMessage: true };
const out: ExpectedOfKinds = {
  ...notRun,
  reason: 'upstream_auth_error',
  health: 'refused',
  lasts: true,
};
const rests: ExpectedOfKinds = { ...notRun, health: 'cooling_down' };
const limited: ExpectedOfKinds = {
  ...rests,
  callerGets: 'upstream_rate_limited',
  reason: 'upstream_rate_limited',
  retryAfter: 10,
};
const failed: ExpectedOfKinds = { ...mayHaveRun, reason: 'upstream_error' };
/** An image that may have been made is never reported as `no_channel`. */
const overloaded = (retryAfter: number): ExpectedOfKinds => ({
  ...mayHaveRun,
  callerGets: 'no_channel',
  retryAfter,
  reason: 'upstream_overloaded',
  health: 'cooling_down',
  image: { ...mayHaveRun.image, callerGets: 'upstream_failed', retryAfter: undefined },
});
/** A status that does not fit the request: nothing was generated. */
const odd: ExpectedOfKinds = { ...notRun, reason: 'upstream_protocol_error' };
/** With a status that HTTP does not define, something may have been generated. */
const unheardOf: ExpectedOfKinds = { ...mayHaveRun, reason: 'upstream_protocol_error' };

/** Sends this instead of a reply, with secrets in its headers. */
const saysIn =
  (
    type: string | undefined,
    body: (kind: Kind, leak: string) => string,
    status = 200,
  ): FaultRow['upstream'] =>
  (kind, leak): Script => [
    reads,
    sends(
      answer(status, body(kind, leak), {
        ...leaking(leak),
        ...(type === undefined ? {} : { 'content-type': type }),
      }),
    ),
  ];

const page = (_kind: Kind, leak: string): string =>
  `<!doctype html><title>Log in</title><p>${leak}</p>`;

/** An error document, with these members of the error in each form. */
const errorSaying =
  (members: Readonly<Record<ErrorForm, object>>): ((kind: Kind, leak: string) => string) =>
  (kind, leak) => {
    const form = errorFormOf(kind);
    const error = { message: leak, ...members[form] };
    return JSON.stringify(form === 'anthropic' ? { type: 'error', error } : { error });
  };

const tooMany = errorSaying({
  openai: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  google: { code: 429, status: 'RESOURCE_EXHAUSTED' },
  anthropic: { type: 'rate_limit_error' },
});
const badKey = errorSaying({
  openai: { type: 'invalid_request_error', code: 'invalid_api_key' },
  google: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] },
  anthropic: { type: 'authentication_error' },
});
const badRequest = errorSaying({
  openai: { type: 'invalid_request_error', code: null },
  google: { code: 400, status: 'INVALID_ARGUMENT' },
  anthropic: { type: 'invalid_request_error' },
});
const ownFault = errorSaying({
  openai: { type: 'server_error', code: null },
  google: { code: 500 },
  anthropic: { type: 'api_error' },
});
const asEvent =
  (document: (kind: Kind, leak: string) => string) =>
  (kind: Kind, leak: string): string =>
    `data: ${document(kind, leak)}\n\n`;

/** The same error in a 200: as a document, and to a stream as its first event. */
function inClothesOf200(
  name: string,
  document: (kind: Kind, leak: string) => string,
  expected: ExpectedOfKinds,
  circumstances: Circumstances = {},
): readonly FaultRow[] {
  const asDocument = saysIn('application/json', document);
  const asStream = saysIn('text/event-stream', asEvent(document));
  return [
    row('F31', `a 200 that is ${name}`, asDocument, expected, circumstances),
    {
      ...row('F31', `a stream that begins with ${name}`, asStream, expected, circumstances),
      kinds: streamKinds,
    },
  ];
}

/** 2xx without a body. */
const empty: ExpectedOfKinds = { ...noContent, reason: 'upstream_empty' };
/** A document is a reply, though not a stream: no other channel is tried. */
const noReply: ExpectedOfKinds = {
  ...noContent,
  reason: 'upstream_protocol_error',
  streams: { charge: 'nothing', outcome: 'unknown' },
};
/** Text of another server. To a stream it may be noise before an error event. */
const invalidText: ExpectedOfKinds = {
  ...mayHaveRun,
  reason: 'upstream_protocol_error',
  streams: { reason: 'upstream_bad_stream' },
};

const redirects = [301, 302, 303, 307, 308].map((status) =>
  row(
    'F28',
    `${status}, to somewhere else`,
    (kind, leak) =>
      refuses(status, { headers: { location: `http://127.0.0.1:1/${leak.length}` } })(kind, leak),
    odd,
  ),
);

/** The rows. */
export const rowsStatus: readonly FaultRow[] = [
  row('F17', '400', refuses(400), refused, mendable),
  row('F17', '422', refuses(422), refused, mendable),
  row('F17', '413', refuses(413), { ...refused, callerGets: 'body_too_large' }, mendable),
  row('F18', '401', refuses(401), out),
  row(
    'F18',
    '402',
    refuses(402),
    { ...rests, reason: 'upstream_unpaid', lasts: true },
    { cooldownMs: 3_600_000 },
  ),
  row(
    'F19',
    '403',
    refuses(403),
    { ...rests, reason: 'upstream_forbidden', lasts: true },
    { cooldownMs: 60_000 },
  ),
  row(
    'F20',
    '404, the model is not known there',
    refuses(404),
    {
      ...rests,
      callerGets: 'model_not_found',
      reason: 'upstream_model_not_found',
      lasts: true,
    },
    { cooldownMs: 60_000 },
  ),
  row('F21', '408', refuses(408), timedOut),
  ...[405, 407, 409, 410, 421, 425, 451].map((status) =>
    row('F22', `${status}`, refuses(status), odd),
  ),
  {
    ...row(
      'F24',
      '429 of an account that has no money',
      refuses(429, { error: { code: 'insufficient_quota' } }),
      { ...limited, retryAfter: 3_600 },
      { cooldownMs: 3_600_000 },
    ),
    // The others have no such error.
    kinds: kinds.filter((kind) => dialectOf(kind) === 'openai'),
  },
  row('F25', '500', refuses(500), failed),
  row('F25', '502', refuses(502), failed),
  row('F25', '520', refuses(520), failed),
  row('F26', '503', refuses(503), overloaded(10), { cooldownMs: 10_000 }),
  row(
    'F26',
    '503 with Retry-After',
    refuses(503, { headers: { 'retry-after': 9 } }),
    overloaded(9),
    { cooldownMs: 9_000 },
  ),
  row(
    'F26',
    '529, which is an answer of Anthropic’s API',
    refuses(529),
    { ...overloaded(10), messages: { status: 529 } },
    { cooldownMs: 10_000 },
  ),
  row('F27', '504', refuses(504), timedOut),
  row('F27', '524', refuses(524), timedOut),
  ...redirects,
  row('F29', '204', () => [reads, sends(head(204))], empty),
  row('F29', '205', () => [reads, sends(head(205, { 'content-length': 0 }))], empty),
  row(
    'F29',
    'a 200 without a body',
    saysIn('application/json', () => ''),
    empty,
  ),
  {
    ...row(
      'F29',
      'a stream without an event',
      saysIn('text/event-stream', () => ''),
      empty,
    ),
    kinds: streamKinds,
  },
  row(
    'F29',
    'a body of no chunk',
    () => {
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      return [reads, sends(head(200, headers), '0\r\n\r\n')];
    },
    empty,
  ),
  row('F30', 'a page of the network', saysIn('text/html', page), invalidText),
  row('F30', 'a page that says it is JSON', saysIn('application/json', page), invalidText),
  row('F30', 'a page without a type', saysIn(undefined, page), invalidText),
  row(
    'F30',
    'plain words',
    saysIn('text/plain', (_kind, leak) => leak),
    invalidText,
  ),
  {
    ...row(
      'F30',
      'a reply without a type',
      saysIn(undefined, (kind) => replyOf(kind)),
      fine,
    ),
    kinds: wholeKinds,
  },
  {
    ...row(
      'F30',
      'a reply that says it is text',
      saysIn('text/plain', (kind) => replyOf(kind)),
      fine,
    ),
    kinds: wholeKinds,
  },
  ...inClothesOf200('a 429', tooMany, limited),
  ...inClothesOf200('a 401', badKey, out),
  ...inClothesOf200('a 400', badRequest, refused, mendable),
  ...inClothesOf200('a 500', ownFault, failed),
  {
    ...row(
      'F32',
      'a document to a call that wants a stream',
      saysIn('application/json', (kind) => replyOf(apiOf(kind))),
      noReply,
    ),
    kinds: streamKinds,
  },
  {
    ...row(
      'F32',
      'a stream to a call that wants none',
      saysIn('text/event-stream', (kind) => asEvent(() => replyOf(kind))(kind, '')),
      {
        ...halfDone,
        reason: 'upstream_protocol_error',
        // Vectors have no tokens that could be counted.
        embeddings: { ...halfDone.embeddings, charge: 'nothing', outcome: 'unknown' },
      },
    ),
    kinds: wholeKinds,
  },
  row('F33', '999', refuses(999), unheardOf),
  row('F33', '600', refuses(600), unheardOf),
  row('F33', '000', (_kind, leak) => [reads, sends(`HTTP/1.1 000 ${leak}\r\n\r\n`), ends], {
    ...mayHaveRun,
    reason: 'bad_response',
  }),
];
