// suite: slow
/**
 * Each failure of an upstream, as one table: what the caller is told, what the record says, what is
 * charged and what is still held.
 */
import { describe, expect, it } from 'vitest';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { type CallerReply, gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  headersOf,
  heldNanos,
  type Kind,
  kinds,
  model,
  sampleRequests,
} from '../../support/models.ts';

/** A failure that ends a call without a reply. */
interface Row {
  readonly fault: string;
  readonly answer: (call: DrivenCall, kind: Kind) => void;
  readonly status: number;
  /** For an image that may have run the error is never a missing account: 502 in place of 503. */
  readonly imageStatus?: number;
  readonly code: string | null;
  readonly imageCode?: string;
  readonly google: string;
  readonly reason: string;
  /** True if the upstream may have run the call. */
  readonly ran: boolean;
  readonly retryAfter?: string;
  /** Overrides for images. */
  readonly imageRetryAfter?: string | undefined;
  /** Overrides for Google's error format. */
  readonly nativeRetryAfter?: string;
  /** The same call fails until the host has changed something. */
  readonly lasts?: boolean;
}

const refusal =
  (status: number, headers = {}, error: object = { message: 'No.' }) =>
  (call: DrivenCall) =>
    call.answer(status, { error }, headers);

const unavailable = { code: 'upstream_failed', google: 'UNAVAILABLE' } as const;
const failed = { status: 502, ...unavailable } as const;
const busy = {
  status: 503,
  imageStatus: 502,
  code: 'no_channel',
  imageCode: 'upstream_failed',
  google: 'UNAVAILABLE',
  reason: 'upstream_overloaded',
  ran: true,
  imageRetryAfter: undefined,
} as const;
const late = {
  status: 504,
  code: 'upstream_timeout',
  google: 'DEADLINE_EXCEEDED',
  reason: 'upstream_timeout',
  ran: true,
} as const;
const limited = {
  status: 429,
  code: 'rate_limit_exceeded',
  google: 'RESOURCE_EXHAUSTED',
  reason: 'upstream_rate_limited',
  ran: false,
} as const;
const refused = {
  status: 400,
  code: null,
  google: 'INVALID_ARGUMENT',
  reason: 'upstream_refused',
  ran: false,
} as const;

const rows: readonly Row[] = [
  { fault: '400', answer: refusal(400), ...refused },
  { fault: '422', answer: refusal(422), ...refused },
  { fault: '413', answer: refusal(413), ...refused, status: 413, code: 'body_too_large' },
  {
    fault: '401',
    answer: refusal(401),
    ...failed,
    reason: 'upstream_auth_error',
    ran: false,
    lasts: true,
  },
  {
    fault: '402',
    answer: refusal(402),
    ...failed,
    reason: 'upstream_unpaid',
    ran: false,
    lasts: true,
  },
  {
    fault: '403',
    answer: refusal(403),
    ...failed,
    reason: 'upstream_forbidden',
    ran: false,
    lasts: true,
  },
  {
    fault: '404',
    answer: refusal(404),
    status: 404,
    code: 'model_not_found',
    google: 'NOT_FOUND',
    reason: 'upstream_model_not_found',
    ran: false,
    lasts: true,
  },
  { fault: '408', answer: refusal(408), ...late },
  {
    fault: '409',
    answer: refusal(409),
    ...failed,
    reason: 'upstream_protocol_error',
    ran: false,
  },
  { fault: '429', answer: refusal(429), ...limited, retryAfter: '10' },
  {
    fault: '429, seconds',
    answer: refusal(429, { 'retry-after': '7' }),
    ...limited,
    retryAfter: '7',
  },
  {
    fault: '429, an hour',
    answer: refusal(429, { 'retry-after': '3600' }),
    ...limited,
    retryAfter: '3600',
  },
  {
    fault: '429, negative',
    answer: refusal(429, { 'retry-after': '-5' }),
    ...limited,
    retryAfter: '10',
  },
  {
    fault: '429, garbage',
    answer: refusal(429, { 'retry-after': 'soon' }),
    ...limited,
    retryAfter: '10',
  },
  {
    fault: '429, in ms',
    answer: refusal(429, { 'retry-after-ms': '2500' }),
    ...limited,
    retryAfter: '3',
  },
  {
    fault: '429 of billing',
    answer: refusal(429, {}, { code: 'insufficient_quota' }),
    ...limited,
    retryAfter: '3600',
    nativeRetryAfter: '10',
  },
  { fault: '500', answer: refusal(500), ...failed, reason: 'upstream_error', ran: true },
  { fault: '502', answer: refusal(502), ...failed, reason: 'upstream_error', ran: true },
  { fault: '503', answer: refusal(503), ...busy, retryAfter: '10' },
  { fault: '503, 9 s', answer: refusal(503, { 'retry-after': '9' }), ...busy, retryAfter: '9' },
  { fault: '529', answer: refusal(529), ...busy, retryAfter: '10' },
  { fault: '504', answer: refusal(504), ...late },
  { fault: '524', answer: refusal(524), ...late },
  {
    fault: '302',
    answer: refusal(302),
    ...failed,
    reason: 'upstream_protocol_error',
    ran: false,
  },
  { fault: '999', answer: refusal(999), ...failed, reason: 'upstream_protocol_error', ran: true },
  {
    fault: 'a 429 in the body of a 200',
    answer: (call) => call.answer(200, { error: { code: 429, message: 'Slow down.' } }),
    ...limited,
    retryAfter: '10',
  },
  {
    fault: 'no such host',
    answer: broken('dns', 'connect'),
    ...failed,
    reason: 'dns',
    ran: false,
  },
  {
    fault: 'no connection in time',
    answer: broken('connect_timeout', 'connect', true),
    ...failed,
    reason: 'connect_timeout',
    ran: false,
  },
  { fault: 'a reset', answer: broken('reset', 'sent'), ...failed, reason: 'reset', ran: true },
  {
    fault: 'no headers in time',
    answer: broken('headers_timeout', 'sent', true),
    ...late,
    reason: 'headers_timeout',
  },
];

function broken(reason: string, stage: 'connect' | 'sent', timedOut = false) {
  return (call: DrivenCall) => call.breakOff(reason, { stage, timedOut });
}

describe.each(rows)('$fault', (row) => {
  it.each(kinds)('%s', async (kind) => {
    const { call, nextRecord, state, upstream } = gatewayInProcess({
      handlers: [(up) => row.answer(up, kind)],
    });
    const image = kind === 'image';

    const reply = await call(sampleRequests[kind]);
    const record = await nextRecord();

    expect(summaryOf(reply, kind)).toEqual(expectedAnswer(row, kind));
    expect(record).toMatchObject({
      status: reply.status,
      outcome: row.ran ? 'unknown' : 'not_run',
      reason: row.reason,
      basis: 'policy',
      chargeNanos: 0n,
      heldNanos: heldNanos[kind],
      attempts: [{ channelId: record.channelId, reason: row.reason }],
    });
    const pends = image && row.ran;
    expect(await state()).toEqual({
      held: pends ? heldNanos[kind] : 0n,
      used: 0n,
      inFlight: 0,
    });
    expect(upstream.calls).toHaveLength(1);
  });
});

it.each([
  ['an empty 200', 'upstream_empty', ''],
  ['a page in place of a reply', 'upstream_protocol_error', '<html>'],
])('%s costs nothing, and an image stays in doubt', async (_, reason, body) => {
  for (const kind of ['chat', 'native', 'image'] as const) {
    const { call, nextRecord, state } = gatewayInProcess({
      handlers: [(up) => up.answer(200, body, headersOf(kind))],
    });

    const reply = await call(sampleRequests[kind]);
    const record = await nextRecord();

    const image = kind === 'image';
    expect(reply.status).toBe(502);
    expect(record).toMatchObject({
      outcome: 'unknown',
      reason,
      basis: 'policy',
      chargeNanos: 0n,
    });
    expect(await state()).toMatchObject({ held: image ? 500n : 0n, used: 0n });
  }
});

describe.each([
  ['an error of the connection', 'reset'],
  ['a clean end', 'upstream_truncated'],
] as const)('a document that breaks off before its content, by %s,', (_, reason) => {
  it.each(['chat', 'native'] as const)('costs a %s its prompt', async (kind) => {
    const { record, state } = await brokenOff(kind, reason);

    expect(record).toMatchObject({ status: 502, outcome: 'truncated', reason, usage: undefined });
    // The estimate of a prompt is a part of what its hold allows for it, beside 200 for output.
    expect(record.chargeNanos).toBeGreaterThan(0n);
    expect(record.chargeNanos).toBeLessThanOrEqual(heldNanos[kind] - 200n);
    expect(state).toEqual({ held: 0n, used: record.chargeNanos, inFlight: 0 });
  });

  it('leaves an image in doubt', async () => {
    const { record, state } = await brokenOff('image', reason);

    expect(record).toMatchObject({ outcome: 'unknown', reason, chargeNanos: 0n });
    expect(state).toMatchObject({ held: 500n, used: 0n });
  });
});

async function brokenOff(kind: 'chat' | 'native' | 'image', reason: string) {
  const { call, nextRecord, state } = gatewayInProcess({
    handlers: [
      (upstreamCall) => {
        const start = '{"choices":[{"mess';
        if (reason === 'upstream_truncated') {
          return upstreamCall.answer(200, start, headersOf(kind));
        }
        upstreamCall.respond(200, headersOf(kind));
        upstreamCall.write(start);
        upstreamCall.breakOff(reason, { stage: 'body', timedOut: false });
      },
    ],
  });
  await call(sampleRequests[kind]);
  return { record: await nextRecord(), state: await state() };
}

it('an empty 200 labelled as a stream costs nothing', async () => {
  const labelled = { 'content-type': 'text/event-stream' };
  for (const kind of ['chat', 'chatStream', 'native', 'nativeStream'] as const) {
    const { call, nextRecord, state } = gatewayInProcess({
      handlers: [(up) => up.answer(200, '', labelled)],
    });

    const reply = await call(sampleRequests[kind]);
    const record = await nextRecord();

    expect([kind, reply.status]).toEqual([kind, 502]);
    expect(record).toMatchObject({ outcome: 'unknown', chargeNanos: 0n, usage: undefined });
    expect(await state()).toMatchObject({ held: 0n, used: 0n });
  }
});

it('the hold of an image in doubt is kept for 15 minutes, then released', async () => {
  const { call, nextRecord, state, clock } = gatewayInProcess({ handlers: [refusal(500)] });
  await call(sampleRequests.image);
  await nextRecord();

  clock.advance(899_000);
  expect(await state()).toEqual({ held: 500n, used: 0n, inFlight: 0 });
  clock.advance(60_000);
  expect(await state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
});

function summaryOf({ status, headers, text }: CallerReply, kind: Kind): object {
  const { error } = JSON.parse(text);
  return {
    status,
    word: kind.startsWith('native') ? error.status : error.code,
    retryAfter: headers['retry-after'],
    shouldRetry: headers['x-should-retry'],
  };
}

function expectedAnswer(row: Row, kind: Kind): object {
  const image = kind === 'image';
  const status = (image ? row.imageStatus : undefined) ?? row.status;
  const code = (image ? row.imageCode : undefined) ?? row.code;
  const ofNative = kind.startsWith('native') ? row.nativeRetryAfter : undefined;
  const ofImage = image && 'imageRetryAfter' in row;
  const retryAfter = ofNative ?? (ofImage ? row.imageRetryAfter : row.retryAfter);
  const mayBuyTwice = image && status >= 500 && row.ran;
  return {
    status,
    word: kind.startsWith('native') ? row.google : code,
    retryAfter,
    shouldRetry: mayBuyTwice || row.lasts || Number(retryAfter) > 60 ? 'false' : undefined,
  };
}

it('a 400 that echoes the headers of a channel tells the caller none of their values', async () => {
  const headers = { 'X-Tenant': 'pw-horse', 'X-Auth': 'Token battery-4', 'X-Mode': 'fast' };
  for (const [message, isShown] of [
    ['pw-horse may not use temperature', false],
    ['battery-4 may not use temperature', false],
    ['temperature is not for fast mode', true],
  ] as const) {
    const { call } = gatewayInProcess({
      models: [model({ channels: [channel({ headers })] })],
      handlers: [(up) => up.answer(400, { error: { message } })],
    });

    const { text } = await call(sampleRequests.chat);

    expect(JSON.parse(text).error.message === message).toBe(isShown);
  }
});

it.each([
  { message: 'No such file: file-1', type: 'invalid_request_error', param: 'file' },
  { message: 'No such File object: file-abcdef', type: 'invalid_request_error', param: null },
  { message: "Item with id 'msg_0a1b2c3d4e5f60718293a4b5c6d7e8f90a' not found.", param: 'input' },
])('a 404 of what the caller named is his, with the upstream’s own message: %j', async (error) => {
  const { call, nextRecord } = gatewayInProcess({ handlers: [(up) => up.answer(404, { error })] });

  const reply = await call(sampleRequests.chat);

  expect(reply.status).toBe(404);
  expect(JSON.parse(reply.text).error).toMatchObject({
    message: error.message,
    type: 'invalid_request_error',
  });
  expect(await nextRecord()).toMatchObject({ outcome: 'not_run', chargeNanos: 0n });
});
