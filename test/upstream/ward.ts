/** The health of channels without a gateway, and what calls show of them. */
import type { GatewayEvent } from '../../src/events.ts';
import type { Channel } from '../../src/ports/catalog.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import {
  type ChannelHealth,
  channelHealth,
  type HealthSignal,
} from '../../src/upstream/channel-health.ts';

export const startMs: number = Date.UTC(2026, 0, 1);
export const text = { isBoughtOnce: false };
export const asked = { modelId: 'm', reply: 'whole' } as const;
export const image = { isBoughtOnce: true };
export const channel: Channel = {
  id: 'a',
  dialect: 'openai',
  baseUrl: 'https://a.example/v1',
  credential: 'secret',
  priority: 0,
  weight: 1,
};

export interface Ward {
  readonly health: ChannelHealth;
  readonly clock: FakeClock;
  readonly events: readonly GatewayEvent[];
  /** One call through the channel, begun and ended. */
  call(verdict: HealthSignal, model?: string): void;
  /** `open`, or what stands in the way. */
  out(model?: string, kind?: { readonly isBoughtOnce: boolean }, of?: Channel): string;
}

export function ward(random: () => number = () => 0.5): Ward {
  const clock = fakeClock(startMs);
  const events: GatewayEvent[] = [];
  const health = channelHealth(clock, random, (event) => events.push(event));
  return {
    health,
    clock,
    events,
    call: (verdict, model = 'm') => health.begin(channel, model, asked).end(verdict),
    out: (model = 'm', kind = text, of = channel) => {
      const availability = health.availability(of, model, kind);
      return availability.kind === 'out' ? availability.reason : availability.kind;
    },
  };
}

export const served: HealthSignal = { kind: 'served' };
export const nothing: HealthSignal = { kind: 'nothing' };
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
  kind: 'rest',
  reason: 'upstream_rate_limited',
  where: 'model',
  forMs,
  yields: true,
});
export const refused: HealthSignal = { kind: 'refused', reason: 'upstream_auth_error' };

export const times = (count: number, act: () => void): void => {
  for (let done = 0; done < count; done += 1) act();
};
