/** Notifications of a gateway that a test makes up: its events, its channels and its clock. */
import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { eventEmitter } from '../../src/events/emitter.ts';
import type { EventOf, GatewayEvent } from '../../src/events/events.ts';
import { type Notifications, notify } from '../../src/notify/notify.ts';
import type { NotifyOptions } from '../../src/notify/options.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import type { ChannelStatus } from '../../src/upstream/channel-status.ts';

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
export const otherSecret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;

export interface Notifying {
  readonly clock: FakeClock;
  readonly notifications: Notifications;
  readonly failures: readonly EventOf<'notification_failed'>[];
  /** What the gateway's `channels()` returns. */
  channels: readonly ChannelStatus[];
  emit(event: GatewayEvent): void;
  /** Resolves once that many notifications have been given up. */
  failed(count: number): Promise<void>;
}

/** Notifications to a URL, closed at the end of the test. */
export function notifying(
  url: string,
  options: Partial<NotifyOptions> & { readonly clock?: FakeClock } = {},
): Notifying {
  const clock = options.clock ?? fakeClock();
  const failures: EventOf<'notification_failed'>[] = [];
  const events = eventEmitter(
    () => (event) => {
      if (event.type === 'notification_failed') failures.push(event);
    },
    () => {},
  );
  const state: Notifying = {
    clock,
    channels: [],
    failures,
    emit: events.emit,
    notifications: notify(
      { subscribe: events.subscribe, emit: events.emit, channels: () => state.channels },
      { url, secret, random: () => 0.5, ...options, clock },
    ),
    failed: async (count) => {
      while (failures.length < count) await setImmediate();
    },
  };
  onTestFinished(() => state.notifications.close());
  return state;
}

/**
 * Advances the clock until a condition holds, in steps that are shorter than any timeout. Between
 * two steps the sockets get their turns.
 */
export async function advanceUntil(clock: FakeClock, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    for (let turn = 0; turn < 20 && !isTrue(); turn += 1) await setImmediate();
    if (!isTrue()) clock.advance(1_000);
  }
}

/** A level of a budget, as the event of a charge. */
export function level(change: Partial<EventOf<'quota_low'>> = {}): EventOf<'quota_low'> {
  return {
    type: 'quota_low',
    subject: 'team',
    period: '2026-01',
    percent: 80,
    limitNanos: 10_000_000_000n,
    usedNanos: 8_500_000_000n,
    keyId: 'key-1',
    metadata: { user: 'ada', plan: 'gold' },
    ...change,
  };
}
