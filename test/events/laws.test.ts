// suite: quick
/** The laws of events can be broken: a history that breaks each of them is found. */
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { eventLaws } from '../support/laws/event-laws.ts';

const ids = { requestId: 'request', reservationId: 'hold' };
const of = (attempt: number, channelId = 'a') => ({
  ...ids,
  attempt,
  modelId: 'chat',
  channelId,
  upstreamModel: 'chat',
  account: undefined,
});

const started: GatewayEvent = {
  type: 'call_started',
  ...ids,
  keyId: 'key',
  group: 'staff',
  protocol: 'chat',
  operation: 'content',
  modelId: 'chat',
  streamed: false,
  metadata: undefined,
  startedAtMs: 0,
};
const begins = (attempt: number, change: Partial<typeof ids> = {}): GatewayEvent => ({
  type: 'attempt_started',
  ...of(attempt),
  ...change,
  dialect: 'openai',
  afterMs: 0,
});
const hasContent = (attempt: number, channelId?: string): GatewayEvent => ({
  type: 'first_byte',
  ...of(attempt, channelId),
  afterMs: 1,
});
const over = (attempt: number, durationMs = 2): GatewayEvent => ({
  type: 'attempt_ended',
  ...of(attempt),
  status: 200,
  reason: undefined,
  mayHaveRun: true,
  durationMs,
});
const tried = { channelId: 'a', status: 200, reason: undefined, mayHaveRun: true, durationMs: 2 };
const record = usageRecord({ ...ids, attempts: [tried], booked: false, revision: 1 });
const ended = (change: Partial<typeof record> = {}): GatewayEvent => ({
  type: 'call_ended',
  record: { ...record, ...change },
  code: undefined,
});
const booked = (change: Partial<typeof record> = {}): GatewayEvent => ({
  type: 'call_booked',
  record: { ...record, booked: true, revision: 2, ...change },
});

const whole = [started, begins(1), hasContent(1), over(1), ended(), booked()];

/** The result of checking a history: the first breach, or what is still open. */
function verdict(history: readonly GatewayEvent[]): string {
  const laws = eventLaws();
  try {
    for (const event of history) laws.see(event);
  } catch (error) {
    return String(error);
  }
  return laws.open().join(', ');
}

it('a regular call breaks no law', () => {
  expect(verdict(whole)).toBe('');
});

it.each([
  ['the call hold', [started]],
  ['the call hold, the attempt of hold on a', [started, begins(1)]],
])('an unfinished call is reported as open: %s', (open, history) => {
  expect(verdict(history)).toBe(open);
});

const broken: readonly (readonly [string, readonly GatewayEvent[]])[] = [
  ['starts a call that had started', [started, started]],
  ['of a call that has not started', [begins(1)]],
  ['of a call that has ended', [...whole, begins(2)]],
  ['has the id of another request', [started, begins(1, { requestId: 'other' })]],
  ['is not number 1', [started, begins(2)]],
  ['is not number 2', [started, begins(1), over(1), begins(1)]],
  ['starts while the attempt before it runs', [started, begins(1), begins(2)]],
  ['is not of the latest', [started, over(1)]],
  ['is of another channel', [started, begins(1), hasContent(1, 'b')]],
  ['is of an attempt that is over', [started, begins(1), over(1), over(1)]],
  ['is the second of its attempt', [started, begins(1), hasContent(1), hasContent(1)]],
  ['took no time', [started, begins(1), over(1, Number.NaN)]],
  ['ends a call that has not started', [ended()]],
  ['ends a call that has ended', [started, begins(1), over(1), ended(), ended()]],
  ['ends a call whose attempt runs', [started, begins(1), ended()]],
  ['has the attempts "a" and not ""', [started, ended()]],
  ['has the attempts "" and not "a"', [started, begins(1), over(1), ended({ attempts: [] })]],
  ['is not the first revision', [started, begins(1), over(1), ended({ revision: 2 })]],
  ['books a call that has not ended', [started, booked()]],
  ['books what was booked', [...whole, booked({ revision: 3 })]],
  [
    'books another charge',
    [started, begins(1), over(1), ended(), booked({ chargeNanos: record.chargeNanos + 1n })],
  ],
  ['is not the next revision', [started, begins(1), over(1), ended(), booked({ revision: 3 })]],
];

describe('a history is refused', () => {
  it.each(broken)('in which an event %s', (complaint, history) => {
    expect(verdict(history)).toContain(complaint);
  });
});
