/**
 * The laws of events: what is true of the events of any gateway, at every moment and whatever
 * happens. A law that is broken throws when the event arrives that breaks it.
 */
import { inspect } from 'node:util';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';

/** Checks the events of one gateway, to which it listens from the beginning. */
export interface EventLaws {
  /** @throws Error if the event breaks a law, given those before it */
  see(event: GatewayEvent): void;
  /** What has started and not ended, as sentences. */
  open(): readonly string[];
  /** The last record of each call that has ended, in the order of their ends. */
  records(): readonly UsageRecord[];
}

/** An attempt of a call, as far as its events show. */
interface SeenAttempt {
  readonly channelId: string;
  hasFirstByte: boolean;
  isOver: boolean;
}

interface SeenCall {
  readonly requestId: string;
  readonly attempts: SeenAttempt[];
  record: UsageRecord | undefined;
}

type EventOf<Type extends GatewayEvent['type']> = Extract<GatewayEvent, { readonly type: Type }>;
type AttemptEvent = EventOf<'attempt_started' | 'first_byte' | 'part_failed' | 'attempt_ended'>;

/** Laws over the calls by the ids of their holds, because callers choose the ids of requests. */
export function eventLaws(): EventLaws {
  const calls = new Map<string, SeenCall>();
  return {
    see: (event) => {
      switch (event.type) {
        case 'call_started':
          demand(!calls.has(event.reservationId), event, 'starts a call that had started');
          calls.set(event.reservationId, newCall(event));
          break;
        case 'attempt_started':
        case 'first_byte':
        case 'part_failed':
        case 'attempt_ended':
          seeAttempt(event, calls.get(event.reservationId));
          break;
        case 'call_ended':
          seeEnd(event, calls.get(event.record.reservationId));
          break;
        case 'call_booked':
          seeBooking(event, calls.get(event.record.reservationId));
          break;
        default:
          break;
      }
    },
    open: () => [...calls].flatMap(([id, call]) => openParts(id, call)),
    records: () => [...calls.values()].flatMap(({ record }) => (record ? [record] : [])),
  };
}

function newCall({ requestId }: EventOf<'call_started'>): SeenCall {
  return { requestId, attempts: [], record: undefined };
}

/** Attempts are numbered from 1, and run one after the other while their call runs. */
function seeAttempt(event: AttemptEvent, call: SeenCall | undefined): void {
  demand(call !== undefined, event, 'is of a call that has not started');
  const { attempts, record, requestId } = call;
  demand(record === undefined, event, 'is of a call that has ended');
  demand(event.requestId === requestId, event, 'has the id of another request');
  const latest = attempts.at(-1);
  if (event.type === 'attempt_started') {
    demand(event.attempt === attempts.length + 1, event, `is not number ${attempts.length + 1}`);
    demand(latest?.isOver !== false, event, 'starts while the attempt before it runs');
    demand(isDuration(event.afterMs), event, 'is at no time');
    attempts.push({ channelId: event.channelId, hasFirstByte: false, isOver: false });
    return;
  }
  demand(latest !== undefined && event.attempt === attempts.length, event, 'is not of the latest');
  demand(event.channelId === latest.channelId, event, 'is of another channel');
  demand(!latest.isOver, event, 'is of an attempt that is over');
  if (event.type === 'first_byte') {
    demand(!latest.hasFirstByte, event, 'is the second of its attempt');
    latest.hasFirstByte = true;
  }
  if (event.type === 'attempt_ended') {
    demand(isDuration(event.durationMs), event, 'took no time');
    latest.isOver = true;
  } else demand(isDuration(event.afterMs), event, 'is at no time');
}

/** A call ends once, after its attempts, with a record that has each of them. */
function seeEnd(event: EventOf<'call_ended'>, call: SeenCall | undefined): void {
  const { record } = event;
  demand(call !== undefined, event, 'ends a call that has not started');
  demand(call.record === undefined, event, 'ends a call that has ended');
  demand(record.requestId === call.requestId, event, 'has the id of another request');
  demand(call.attempts.at(-1)?.isOver !== false, event, 'ends a call whose attempt runs');
  const reported = call.attempts.map(({ channelId }) => channelId).join();
  const recorded = record.attempts.map(({ channelId }) => channelId).join();
  demand(reported === recorded, event, `has the attempts "${recorded}" and not "${reported}"`);
  demand(record.revision === 1, event, 'is not the first revision');
  demand(isDuration(record.durationMs), event, 'took no time');
  call.record = record;
}

/** Only a charge that was not booked is booked later, once, with the same amounts. */
function seeBooking(event: EventOf<'call_booked'>, call: SeenCall | undefined): void {
  const before = call?.record;
  const { record } = event;
  demand(call !== undefined && before !== undefined, event, 'books a call that has not ended');
  demand(!before.booked && record.booked, event, 'books what was booked');
  demand(record.chargeNanos === before.chargeNanos, event, 'books another charge');
  demand(record.revision === before.revision + 1, event, 'is not the next revision');
  call.record = record;
}

function openParts(id: string, { attempts, record }: SeenCall): readonly string[] {
  const running = attempts
    .filter(({ isOver }) => !isOver)
    .map(({ channelId }) => `the attempt of ${id} on ${channelId}`);
  return record === undefined ? [`the call ${id}`, ...running] : running;
}

function isDuration(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0;
}

function demand(holds: boolean, event: GatewayEvent, complaint: string): asserts holds {
  if (!holds) throw new Error(`The event ${event.type} ${complaint}: ${inspect(event)}`);
}
