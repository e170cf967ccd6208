/** Summarises the results of a case in the terms of its row, to compare them. */

import { inspect, isDeepStrictEqual } from 'node:util';
import type { ErrorCode } from '../../src/errors.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import { isFailedAttempt } from '../support/laws/event-checks.ts';
import { errorFieldsIn, errorFieldsOf, streamErrorFieldsOf } from './error-fields.ts';
import { isMessages, isNative, isStream, type Kind, nanosOf, relayedReply } from './kinds.ts';
import { messagesErrorAtEnd, messagesErrorIn } from './messages-kind.ts';
import { responsesErrorAtEnd } from './responses-kind.ts';
import { type Expected, expectedOf, type Health } from './rows/row.ts';
import { type Case, callsBeforeOf, type Outcome } from './run-case.ts';

/** The results that the matrix compares. */
export interface Comparison {
  readonly callerGets: string;
  readonly headers: object;
  readonly charge: string;
  readonly outcome: string | undefined;
  readonly reason: string | undefined;
  /** `faulty: reset`, `healthy` */
  readonly attempts: readonly string[];
  /** One event for each attempt that failed. */
  readonly failures: readonly string[];
  readonly records: number;
  readonly calls: readonly [number, number];
  readonly connections: number | undefined;
  readonly health: string | undefined;
  readonly leaks: readonly string[];
  /** Internal errors and failed ports: there must be none. */
  readonly bugs: readonly string[];
}

/** The expected results. */
export function comparisonExpected(testCase: Case): Comparison {
  const { row, kind, channelSetup } = testCase;
  const expected = expectedOf(row, kind);
  const { keptCode } = expected;
  const { connections, cooldownMs: restMs } = row.circumstances ?? {};
  const isServedBySecond = channelSetup !== 'single' && expected.withSecond === 'second';
  const callerGets = isServedBySecond ? 'reply' : expected.callerGets;
  const failed = expected.reason === undefined ? [] : [`faulty: ${expected.reason}`];
  return {
    callerGets: withCode(
      replyText(callerGets, kind, expected.status),
      isServedBySecond || isMessages(kind) ? undefined : keptCode,
    ),
    headers: headersExpected(callerGets, kind, isServedBySecond ? undefined : expected),
    charge: isServedBySecond ? 'usage' : expected.charge,
    outcome: isServedBySecond ? 'complete' : expected.outcome,
    reason: isServedBySecond ? undefined : expected.reason,
    attempts: attemptsExpected(expected, isServedBySecond),
    failures: isReported(expected) ? timesOf(testCase, failed) : [],
    records: callsBeforeOf(testCase) + 1,
    calls: [expected.calls, isServedBySecond ? 1 : 0],
    connections: channelSetup === 'single' ? connections : undefined,
    health: healthExpected(testCase, expected.health, restMs),
    leaks: [],
    bugs: [],
  };
}

/** The actual results. */
export function comparisonOf(testCase: Case, outcome: Outcome): Comparison {
  const { answer, record, records, events, calls, connections, leaks } = outcome;
  const { row, kind, channelSetup } = testCase;
  const isCounted = row.circumstances?.connections !== undefined && channelSetup === 'single';
  return {
    callerGets: replyTextIn(testCase, outcome),
    headers: {
      ...pick(answer.headers, 'content-type', 'cache-control', 'vary', 'x-should-retry'),
      'retry-after': answer.headers['retry-after'],
      'x-request-id': answer.headers['x-request-id'] === record?.requestId && record !== undefined,
      'request-id': answer.headers['request-id'] === record?.requestId && record !== undefined,
    },
    charge: chargeIn(kind, outcome),
    outcome: record?.outcome,
    reason: record?.reason,
    attempts: (record?.attempts ?? []).map(({ channelId, reason }) =>
      reason === undefined ? channelId : `${channelId}: ${reason}`,
    ),
    failures: events.flatMap((event) =>
      isFailedAttempt(event) ? [`${event.channelId}: ${event.reason}`] : [],
    ),
    records,
    calls,
    connections: isCounted ? connections : undefined,
    health: healthIn(testCase, outcome),
    leaks,
    bugs: events.flatMap(bugIn),
  };
}

/** With `repeated`, each of five calls has these failures. */
function timesOf({ channelSetup }: Case, failures: readonly string[]): readonly string[] {
  return channelSetup === 'repeated' ? Array(5).fill(failures).flat() : failures;
}

const states: Readonly<Record<Health, string>> = {
  none: 'ready',
  counted: 'ready',
  timed_out: 'deprioritized',
  cooling_down: 'cooling_down',
  refused: 'refused',
};

/** The last channel is never taken out, so its health is not compared. */
function healthExpected(
  { channelSetup }: Case,
  health: Health,
  restMs: number | undefined,
): string | undefined {
  if (channelSetup === 'single') return undefined;
  if (channelSetup === 'repeated') return health === 'counted' ? 'open' : states[health];
  return restMs === undefined ? states[health] : `${states[health]} for ${restMs} ms`;
}

function healthIn(
  { channelSetup, row }: Case,
  { health: standing, nowMs }: Outcome,
): string | undefined {
  if (channelSetup === 'single') return undefined;
  const { state, untilMs } = standing;
  const isTimed = channelSetup === 'with_second' && row.circumstances?.cooldownMs !== undefined;
  return isTimed && untilMs !== undefined ? `${state} for ${untilMs - nowMs} ms` : state;
}

/** A text about the differences. */
export function differences(result: Comparison, expected: Comparison): string {
  const want = new Map<string, unknown>(Object.entries(expected));
  return Object.entries(result)
    .filter(([name, value]) => !isDeepStrictEqual(value, want.get(name)))
    .map(([name, value]) => `${name} ${inspect(value)} in place of ${inspect(want.get(name))}`)
    .join('; ');
}

function bugIn(event: GatewayEvent): readonly string[] {
  if (event.type === 'internal_error') return [event.at];
  return event.type === 'port_failed' ? [`${event.port}.${event.operation}`] : [];
}

function attemptsExpected({ callerGets, reason }: Expected, isHelped: boolean): readonly string[] {
  // An attempt that breaks after the head of its response has succeeded as an attempt.
  const first = reason === undefined || isBegun(callerGets) ? 'faulty' : `faulty: ${reason}`;
  return isHelped ? [first, 'healthy'] : [first];
}

/** An event reports the failure of the attempt. */
function isReported({ callerGets }: Expected): boolean {
  return callerGets !== 'reply';
}

/** The caller had the head of an answer before anything went wrong. */
function isBegun(callerGets: string): boolean {
  return callerGets === 'reply' || callerGets === 'cut' || callerGets.startsWith('broken');
}

const codes: readonly string[] = [
  'invalid_request',
  'body_too_large',
  'upstream_rate_limited',
  'upstream_failed',
  'no_channel',
  'upstream_timeout',
] satisfies readonly ErrorCode[];

function replyText(callerGets: Expected['callerGets'], kind: Kind, status?: number): string {
  switch (callerGets) {
    case 'reply':
    case 'cut':
      return callerGets;
    case 'broken':
      return `broken: ${streamErrorFieldsOf('upstream_failed', kind)}`;
    default:
      return isBroken(callerGets)
        ? `broken: ${streamErrorFieldsOf(codeIn(callerGets), kind)}`
        : errorFieldsOf(callerGets, kind, status);
  }
}

function withCode(text: string, keptCode: string | undefined): string {
  return keptCode === undefined ? text : text.replace(/\S+$/, keptCode);
}

function isBroken(
  callerGets: Exclude<Expected['callerGets'], 'reply' | 'cut'>,
): callerGets is `broken: ${ErrorCode}` {
  return callerGets.startsWith('broken: ');
}

function codeIn(callerGets: `broken: ${ErrorCode}`): ErrorCode {
  const code = callerGets.slice('broken: '.length);
  if (isCode(code)) return code;
  throw new Error(`${callerGets} names no code.`);
}

function isCode(code: string): code is ErrorCode {
  return codes.includes(code);
}

function replyTextIn({ row, kind }: Case, { answer }: Outcome): string {
  const { status, text, isCut, headers } = answer;
  const requestId = headers['request-id'];
  if (isCut) return status === 200 ? 'cut' : `${status}, cut`;
  if (status !== 200 && isMessages(kind)) return `${status} ${messagesErrorIn(text, requestId)}`;
  if (status !== 200) return `${isNative(kind) ? '' : `${status} `}${errorFieldsIn(text, kind)}`;
  const whole = row.circumstances?.expectedBody?.(kind) ?? relayedReply(kind);
  if (text === whole || text === relayedReply(kind)) return 'reply';
  const error = isStream(kind) ? errorAtEnd(text, kind, requestId) : undefined;
  return error === undefined ? `200 ${text.slice(0, 300)}` : `broken: ${error}`;
}

/** The error at the end of a stream, in the exact form that its protocol requires. */
function errorAtEnd(text: string, kind: Kind, requestId: unknown): string | undefined {
  if (kind === 'messages_stream') return messagesErrorAtEnd(text, requestId);
  if (kind === 'responses_stream') return responsesErrorAtEnd(text);
  if (!isNative(kind)) {
    const event = /^(?:[\s\S]*\n\n)?data: (\{"error":\{[^\n]*\}\})\n\n$/.exec(text)?.[1];
    const status = /"code":"upstream_timeout"/.test(event ?? '') ? 504 : 502;
    return event === undefined
      ? undefined
      : `${statusIn(event) ?? status} ${errorFieldsIn(event, kind)}`;
  }
  const [, event, bare] =
    /(?:^|\n)data: (\{"error":\{[^\n]*?\}\})\r\n\r\n(\{"error":[^\n]*)$/.exec(text) ?? [];
  return event !== undefined && event === bare ? errorFieldsIn(event, kind) : undefined;
}

/** The status that belongs to the code of an event. */
function statusIn(event: string): number | undefined {
  return event.includes('"rate_limit_exceeded"') ? 429 : undefined;
}

function headersExpected(
  callerGets: Expected['callerGets'],
  kind: Kind,
  expected: Expected | undefined,
): object {
  const { retryAfter, lasts, outcome } = expected ?? {};
  const isFailure = !isBegun(callerGets);
  const isServerError = isFailure && /^5/.test(statusText(callerGets, kind));
  const mayBuyTwice = kind === 'images' && isServerError && outcome !== 'not_run';
  const mayNotRetry = mayBuyTwice || (isFailure && (lasts === true || (retryAfter ?? 0) > 60));
  return {
    'content-type':
      isStream(kind) && !isFailure ? 'text/event-stream; charset=utf-8' : 'application/json',
    'cache-control': isStream(kind) && !isFailure ? 'no-cache, no-transform' : 'no-store',
    vary: 'authorization, x-api-key, x-vendor-api-key, x-goog-api-key, anthropic-version',
    'x-should-retry': mayNotRetry ? 'false' : undefined,
    'retry-after': retryAfter === undefined ? undefined : String(retryAfter),
    'x-request-id': true,
    'request-id': isMessages(kind),
  };
}

function statusText(callerGets: Expected['callerGets'], kind: Kind): string {
  return replyText(callerGets, kind).slice(0, 3);
}

function chargeIn(kind: Kind, { record, quota: { before, after } }: Outcome): string {
  if (record === undefined) return 'no record';
  const { chargeNanos, heldNanos } = record;
  if (after.used - before.used !== chargeNanos) return `used ${after.used}, not ${chargeNanos}`;
  const held = after.held - before.held;
  if (held !== 0n) return held === heldNanos && chargeNanos === 0n ? 'pending' : `held ${held}`;
  if (after.inFlight !== before.inFlight) return `in flight ${after.inFlight}`;
  if (chargeNanos === 0n) return 'nothing';
  return chargeNanos === nanosOf(kind) ? 'usage' : 'observed';
}

function pick(
  headers: Readonly<Record<string, unknown>>,
  ...names: readonly string[]
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}
