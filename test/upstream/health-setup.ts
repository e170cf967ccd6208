/** A harness for channel health without a gateway, and the signals that the tests use. */
import type { GatewayEvent } from '../../src/events/events.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type ChannelHealth, channelHealth } from '../../src/upstream/channel-health.ts';
import type { HealthSignal } from '../../src/upstream/record-health.ts';

export const startMs: number = Date.UTC(2026, 0, 1);
export const text = { isBoughtOnce: false };
export const wholeCall = { modelId: 'm', reply: 'whole' } as const;
export const image = { isBoughtOnce: true };
export const channel: Channel = {
  id: 'a',
  dialect: 'openai',
  baseUrl: 'https://a.example/v1',
  credential: 'secret',
  priority: 0,
  weight: 1,
};

export interface HealthSetup {
  readonly health: ChannelHealth;
  readonly clock: FakeClock;
  readonly events: readonly GatewayEvent[];
  /** Begins and ends one call through the channel. */
  call(signal: HealthSignal, model?: string): void;
  /** `available`, `deprioritized`, or the reason why it is unavailable. */
  stateOf(model?: string, kind?: { readonly isBoughtOnce: boolean }, of?: Channel): string;
}

export function healthSetup(random: () => number = () => 0.5): HealthSetup {
  const clock = fakeClock(startMs);
  const events: GatewayEvent[] = [];
  const health = channelHealth(clock, random, (event) => events.push(event));
  return {
    health,
    clock,
    events,
    call: (signal, model = 'm') => health.begin(channel, model, wholeCall).end(signal),
    stateOf: (model = 'm', kind = text, of = channel) => {
      const availability = health.availability(of, model, kind);
      return availability.kind === 'unavailable' ? availability.reason : availability.kind;
    },
  };
}

export const served: HealthSignal = { kind: 'served' };
export const neutral: HealthSignal = { kind: 'neutral' };
export const fails: HealthSignal = { kind: 'failed', reason: 'upstream_error', where: 'model' };
export const timesOut: HealthSignal = {
  kind: 'failed',
  reason: 'headers_timeout',
  where: 'model',
  timedOut: true,
};
export const unreachable: HealthSignal = {
  kind: 'failed',
  reason: 'connect_refused',
  where: 'account',
};
export const limited = (forMs?: number): HealthSignal => ({
  kind: 'cooldown',
  reason: 'upstream_rate_limited',
  where: 'model',
  forMs,
  lastResort: true,
});
export const refused: HealthSignal = { kind: 'refused', reason: 'upstream_auth_error' };

export const times = (count: number, act: () => void): void => {
  for (let done = 0; done < count; done += 1) act();
};
