/** Shared by the tests of repeated calls: a call with a key, and gateways over common stores. */
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import { memoryIdempotencyStore } from '../../../src/stores/memory/idempotency-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { memoryResultStore } from '../../../src/stores/memory/result-store.ts';
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts';
import { countedIds } from '../../support/counted-ids.ts';
import {
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';

/** The kinds of call for which a key is supported. */
export const keyedKinds = ['chat', 'image'] as const;

/** The price of each. */
export const costs: Readonly<Record<(typeof keyedKinds)[number], bigint>> = {
  chat: 20n,
  image: 500n,
};

/** The same call, with a key. */
export function keyed(
  request: CallerRequest,
  key = 'k1',
  headers: CallerRequest['headers'] = {},
): CallerRequest {
  return { ...request, headers: { ...headers, 'idempotency-key': key } };
}

/** The `code` of an error response. */
export function codeOf(text: string): string | undefined {
  return JSON.parse(text).error?.code;
}

/** Stores and a clock that several gateways share. */
export interface SharedStores {
  readonly clock: FakeClock;
  readonly options: Required<
    Pick<GatewayOptions, 'clock' | 'quota' | 'idempotency' | 'results' | 'ids'>
  >;
  /** Adds a gateway over these stores. */
  gateway(setup?: GatewaySetup): InProcessGateway;
  used(): Promise<bigint | undefined>;
}

/** Makes fresh stores. */
export function sharedStores(): SharedStores {
  const clock = fakeClock();
  const ids = countedIds('shared');
  const options = {
    clock,
    quota: memoryQuotaStore({ clock }),
    idempotency: memoryIdempotencyStore({ clock }),
    results: memoryResultStore({ clock }),
    ids,
  };
  return {
    clock,
    options,
    gateway: (setup = {}) =>
      gatewayInProcess({ ...setup, options: { ...options, ...setup.options } }),
    used: async () => (await options.quota.read('caller', '', defaultPartition))?.used,
  };
}
