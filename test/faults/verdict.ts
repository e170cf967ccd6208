/** Puts what came of a case beside what its row expects, in the same few words. */
import { inspect, isDeepStrictEqual } from 'node:util';
import type { ErrorCode } from '../../src/errors.ts';
import type { GatewayEvent } from '../../src/events.ts';
import { isNative, isStream, relayedReply, usageNanos } from './asks.ts';
import { type Expected, expectedOf, type Health, type Kind } from './row.ts';
import { type Case, callsBeforeOf, type Outcome } from './scene.ts';
import { wordsIn, wordsOf } from './words.ts';

/** What the matrix compares. */
export interface Verdict {
  readonly told: string;
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
  /** Places where something broke that must never break. */
  readonly bugs: readonly string[];
}

/** What must have come of it. */
export function verdictExpected(play: Case): Verdict {
  const { row, kind, company } = play;
  const expected = expectedOf(row, kind);
  const { connections, restMs } = row.circumstances ?? {};
  const isHelped = company !== 'alone' && expected.beside === 'second';
  const told = isHelped ? 'reply' : expected.told;
  const failed = expected.reason === undefined ? [] : [`faulty: ${expected.reason}`];
  return {
    told: toldAs(told, kind),
    headers: headersExpected(told, kind, isHelped ? undefined : expected),
    charge: isHelped ? 'usage' : expected.charge,
    outcome: isHelped ? 'complete' : expected.outcome,
    reason: isHelped ? undefined : expected.reason,
    attempts: attemptsExpected(expected, isHelped),
    failures: isTold(expected) ? timesOf(play, failed) : [],
    records: callsBeforeOf(play) + 1,
    calls: [expected.calls, isHelped ? 1 : 0],
    connections: company === 'alone' ? connections : undefined,
    health: healthExpected(play, expected.health, restMs),
    leaks: [],
    bugs: [],
  };
}

/** What has come of it. */
export function verdictOf(play: Case, outcome: Outcome): Verdict {
  const { answer, record, records, events, calls, connections, leaks } = outcome;
  const { row, kind, company } = play;
  const isCounted = row.circumstances?.connections !== undefined && company === 'alone';
  return {
    told: toldIn(play, outcome),
    headers: {
      ...pick(answer.headers, 'content-type', 'cache-control', 'vary', 'x-should-retry'),
      'retry-after': answer.headers['retry-after'],
      'x-request-id': answer.headers['x-request-id'] === record?.requestId && record !== undefined,
    },
    charge: chargeIn(kind, outcome),
    outcome: record?.outcome,
    reason: record?.reason,
    attempts: (record?.attempts ?? []).map(({ channelId, reason }) =>
      reason === undefined ? channelId : `${channelId}: ${reason}`,
    ),
    failures: events.flatMap((event) =>
      event.type === 'upstream_failed' ? [`${event.channelId}: ${event.reason}`] : [],
    ),
    records,
    calls,
    connections: isCounted ? connections : undefined,
    health: healthIn(play, outcome),
    leaks,
    bugs: events.flatMap(bugIn),
  };
}

/** Each call of five fails so. */
function timesOf({ company }: Case, failures: readonly string[]): readonly string[] {
  return company === 'again' ? Array(5).fill(failures).flat() : failures;
}

const states: Readonly<Record<Health, string>> = {
  none: 'ready',
  counted: 'ready',
  timed_out: 'deprioritized',
  rests: 'cooling_down',
  out: 'refused',
};

/** A lone channel never rests, so that its health is not looked at (ARCHITECTURE S). */
function healthExpected(
  { company }: Case,
  health: Health,
  restMs: number | undefined,
): string | undefined {
  if (company === 'alone') return undefined;
  if (company === 'again') return health === 'counted' ? 'open' : states[health];
  return restMs === undefined ? states[health] : `${states[health]} for ${restMs} ms`;
}

function healthIn({ company, row }: Case, { standing, nowMs }: Outcome): string | undefined {
  if (company === 'alone') return undefined;
  const { state, untilMs } = standing;
  const isTimed = company === 'beside' && row.circumstances?.restMs !== undefined;
  return isTimed && untilMs !== undefined ? `${state} for ${untilMs - nowMs} ms` : state;
}

/** Where two verdicts differ, in words. */
export function differences(came: Verdict, expected: Verdict): string {
  const want = new Map<string, unknown>(Object.entries(expected));
  return Object.entries(came)
    .filter(([name, value]) => !isDeepStrictEqual(value, want.get(name)))
    .map(([name, value]) => `${name} ${inspect(value)} in place of ${inspect(want.get(name))}`)
    .join('; ');
}

function bugIn(event: GatewayEvent): readonly string[] {
  if (event.type === 'internal_error') return [event.at];
  return event.type === 'port_failed' ? [`${event.port}.${event.operation}`] : [];
}

function attemptsExpected({ told, reason }: Expected, isHelped: boolean): readonly string[] {
  // What breaks behind the head was an answer when it was tried.
  const first = reason === undefined || isBegun(told) ? 'faulty' : `faulty: ${reason}`;
  return isHelped ? [first, 'healthy'] : [first];
}

/** A reply that breaks off is told too, unless nothing of it is the channel's fault. */
function isTold({ told, health }: Expected): boolean {
  return !isBegun(told) || (told !== 'reply' && health !== 'none');
}

/** The caller had the head of an answer before anything went wrong. */
function isBegun(told: string): boolean {
  return told === 'reply' || told === 'cut' || told.startsWith('broken');
}

const codes: readonly string[] = [
  'invalid_request',
  'body_too_large',
  'upstream_rate_limited',
  'upstream_failed',
  'no_channel',
  'upstream_timeout',
] satisfies readonly ErrorCode[];

function toldAs(told: Expected['told'], kind: Kind): string {
  switch (told) {
    case 'reply':
    case 'cut':
      return told;
    case 'broken':
      return `broken: ${wordsOf('upstream_failed', kind)}`;
    default:
      return isBroken(told) ? `broken: ${wordsOf(codeIn(told), kind)}` : wordsOf(told, kind);
  }
}

function isBroken(
  told: Exclude<Expected['told'], 'reply' | 'cut'>,
): told is `broken: ${ErrorCode}` {
  return told.startsWith('broken: ');
}

function codeIn(told: `broken: ${ErrorCode}`): ErrorCode {
  const code = told.slice('broken: '.length);
  if (isCode(code)) return code;
  throw new Error(`${told} names no code.`);
}

function isCode(code: string): code is ErrorCode {
  return codes.includes(code);
}

function toldIn({ row, kind }: Case, { answer }: Outcome): string {
  const { status, text, isCut } = answer;
  if (isCut) return status === 200 ? 'cut' : `${status}, cut`;
  if (status !== 200) return `${isNative(kind) ? '' : `${status} `}${wordsIn(text, kind)}`;
  const whole = row.circumstances?.reads?.(kind) ?? relayedReply(kind);
  if (text === whole || text === relayedReply(kind)) return 'reply';
  const error = isStream(kind) ? errorAtEnd(text, kind) : undefined;
  return error === undefined ? `200 ${text.slice(0, 300)}` : `broken: ${error}`;
}

/** The error that a stream ends with, in the exact form that its protocol demands. */
function errorAtEnd(text: string, kind: Kind): string | undefined {
  if (!isNative(kind)) {
    const event = /^(?:[\s\S]*\n\n)?data: (\{"error":\{[^\n]*\}\})\n\n$/.exec(text)?.[1];
    const status = /"code":"upstream_timeout"/.test(event ?? '') ? 504 : 502;
    return event === undefined ? undefined : `${statusIn(event) ?? status} ${wordsIn(event, kind)}`;
  }
  const [, event, bare] =
    /(?:^|\n)data: (\{"error":\{[^\n]*?\}\})\r\n\r\n(\{"error":[^\n]*)$/.exec(text) ?? [];
  return event !== undefined && event === bare ? wordsIn(event, kind) : undefined;
}

/** An event has no status: it is the one of its code. */
function statusIn(event: string): number | undefined {
  return event.includes('"rate_limit_exceeded"') ? 429 : undefined;
}

function headersExpected(
  told: Expected['told'],
  kind: Kind,
  expected: Expected | undefined,
): object {
  const { retryAfter, lasts, outcome } = expected ?? {};
  const isFailure = !isBegun(told);
  const isServerError = isFailure && /^5/.test(wordsStatus(told, kind));
  const mayBuyTwice = kind === 'image' && isServerError && outcome !== 'not_run';
  const mayNotRetry = mayBuyTwice || (isFailure && (lasts === true || (retryAfter ?? 0) > 60));
  return {
    'content-type':
      isStream(kind) && !isFailure ? 'text/event-stream; charset=utf-8' : 'application/json',
    'cache-control': isStream(kind) && !isFailure ? 'no-cache, no-transform' : 'no-store',
    vary: 'authorization, x-vendor-api-key, x-goog-api-key',
    'x-should-retry': mayNotRetry ? 'false' : undefined,
    'retry-after': retryAfter === undefined ? undefined : String(retryAfter),
    'x-request-id': true,
  };
}

function wordsStatus(told: Expected['told'], kind: Kind): string {
  return toldAs(told, kind).slice(0, 3);
}

function chargeIn(kind: Kind, { record, quota: { before, after } }: Outcome): string {
  if (record === undefined) return 'no record';
  const { chargeNanos, heldNanos } = record;
  if (after.used - before.used !== chargeNanos) return `used ${after.used}, not ${chargeNanos}`;
  const held = after.held - before.held;
  if (held !== 0n) return held === heldNanos && chargeNanos === 0n ? 'pending' : `held ${held}`;
  if (after.inFlight !== before.inFlight) return `in flight ${after.inFlight}`;
  if (chargeNanos === 0n) return 'nothing';
  return chargeNanos === usageNanos[kind] ? 'usage' : 'observed';
}

function pick(
  headers: Readonly<Record<string, unknown>>,
  ...names: readonly string[]
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}
