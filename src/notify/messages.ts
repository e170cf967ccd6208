/**
 * Turns what happened into notifications. Their ids are hashes of the cause, so that replicas that
 * see the same cause, and retries, send the same id, and a receiver keeps one.
 */
import { hash } from 'node:crypto';
import type { EventOf } from '../events/events.ts';
import type { NotificationType } from '../events/notification-types.ts';
import { withoutBigints } from '../json.ts';
import { formatMoney } from '../prices/amount.ts';
import type { ChannelStatus } from '../upstream/channel-status.ts';

/** A notification, ready to be signed. */
export interface Message {
  readonly type: NotificationType;
  readonly id: string;
  readonly body: Uint8Array;
}

/**
 * How important each is: if the queue is full, those of the lowest number are dropped first. What
 * is lost unless somebody acts on it comes last.
 */
export const importance: Readonly<Record<NotificationType, number>> = {
  test: 0,
  'channel.back': 1,
  'store.failing': 1,
  'channel.out': 2,
  'catalog.refused': 2,
  'config.refused': 2,
  'budget.reached': 3,
  'settlements.lost': 4,
};

/**
 * Causes without a period of their own are the same within ten minutes of UTC: long enough for
 * replicas that notice them at different times, short enough to hear of the next one.
 */
const spanMs = 600_000;

/** The number of the ten minutes that a time is in. */
export function spanOf(nowMs: number): number {
  return Math.floor(nowMs / spanMs);
}

interface Content {
  readonly type: NotificationType;
  /** What makes two notifications of the type the same. */
  readonly cause: readonly (string | number)[];
  /** One sentence for people. */
  readonly text: string;
  readonly data: object;
}

function messageOf({ type, cause, text, data }: Content, nowMs: number): Message {
  const id = `msg_${hash('sha256', JSON.stringify([type, ...cause]), 'base64url').slice(0, 32)}`;
  const timestamp = new Date(nowMs).toISOString();
  const body = JSON.stringify({ type, timestamp, text, data: withoutBigints(data) });
  return { type, id, body: Buffer.from(body) };
}

export function budgetReached(
  event: EventOf<'quota_low'>,
  listed: readonly string[],
  nowMs: number,
): Message {
  const { subject, period, percent, limitNanos, usedNanos, keyId } = event;
  const shown = Object.entries(event.metadata ?? {}).filter(([name]) => listed.includes(name));
  const span = period === '' ? '' : ` for ${period}`;
  const left = `${formatMoney(usedNanos)} of ${formatMoney(limitNanos)} used`;
  // Level 100 is also reported where the rest is too small for a call.
  const isUsedUp = percent === 100 && usedNanos >= limitNanos;
  const reached = percent === 100 ? 'has too little left for a call' : `has reached ${percent} %`;
  const level = isUsedUp ? 'is used up' : reached;
  return messageOf(
    {
      type: 'budget.reached',
      // With the limit: a budget that was raised is a new one, whose levels can be reached again.
      cause: [subject, period, percent, String(limitNanos)],
      text: `The budget ${subject}${span} ${level}: ${left}.`,
      data: {
        ...{ subject, period, percent, limitNanos, usedNanos, keyId },
        ...(shown.length === 0 ? {} : { metadata: Object.fromEntries(shown) }),
      },
    },
    nowMs,
  );
}

const maxModels = 20;

export function channelMessage(
  type: 'channel.out' | 'channel.back',
  { channelId, state, reason, untilMs, models }: ChannelStatus,
  nowMs: number,
): Message {
  const isOut = type === 'channel.out';
  const [first] = models;
  const why = reason ?? first?.reason;
  const until = (atMs: number | undefined) => atMs && new Date(atMs).toISOString();
  const isPartlyOut = isOut && state === 'ready';
  const what = isPartlyOut ? 'Models of the channel' : 'The channel';
  const verb = isPartlyOut ? `are out (${models.length})` : isOut ? 'is out' : 'is back';
  return messageOf(
    {
      type,
      cause: [channelId, spanOf(nowMs)],
      text: `${what} ${channelId} ${verb}${isOut && why !== undefined ? `: ${why}` : ''}.`,
      data: {
        ...{ channelId, state, reason, until: until(untilMs) },
        models: models.slice(0, maxModels).map((model) => ({
          ...{ upstreamModel: model.upstreamModel, state: model.state, reason: model.reason },
          until: until(model.untilMs),
        })),
      },
    },
    nowMs,
  );
}

export function fileRefused(
  { type, source, reason }: EventOf<'catalog_refused' | 'config_refused'>,
  nowMs: number,
): Message {
  const isCatalog = type === 'catalog_refused';
  return messageOf(
    {
      type: isCatalog ? 'catalog.refused' : 'config.refused',
      cause: [source, reason, spanOf(nowMs)],
      text: `${source} is invalid, and the last valid one applies: ${reason}`,
      data: { source, reason },
    },
    nowMs,
  );
}

const maxSettlements = 20;

/** At least one. */
export function settlementsLost(
  lost: readonly EventOf<'settlement_lost'>[],
  nowMs: number,
): Message {
  const settlements = lost.map(({ requestId, end }) => ({
    ...{ requestId, reservationId: end.input.id, operation: end.operation },
    lines: 'lines' in end.input ? end.input.lines : [],
  }));
  const chargeNanos = settlements
    .filter(({ operation }) => operation === 'settle')
    .reduce((sum, { lines }) => sum + largest(lines.map(({ amount }) => amount)), 0n);
  return messageOf(
    {
      type: 'settlements.lost',
      cause: settlements.map(({ reservationId }) => reservationId),
      text:
        `${lost.length} ends of calls did not reach the quota store: ` +
        `${formatMoney(chargeNanos)} have to be charged by hand.`,
      data: { count: lost.length, chargeNanos, settlements: settlements.slice(0, maxSettlements) },
    },
    nowMs,
  );
}

/** A line that only counts calls is charged nothing; all others are charged the same. */
function largest(amounts: readonly bigint[]): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}

export function storeFailing(
  { port, operation, reason, code }: EventOf<'port_failed'>,
  nowMs: number,
): Message {
  return messageOf(
    {
      type: 'store.failing',
      cause: [port, spanOf(nowMs)],
      text: `The port ${port} fails: ${operation}, ${code ?? reason}.`,
      data: { port, operation, reason, code },
    },
    nowMs,
  );
}

/** What `tollgate notify test` sends. */
export function testMessage(nowMs: number): Message {
  const text = 'This is a test of the notifications of Tollgate.';
  return messageOf({ type: 'test', cause: [nowMs], text, data: {} }, nowMs);
}
