/**
 * Rows F63–F68 and F76: each port and hook of a host, failing in every way. The expected results
 * are the same for each way.
 */
import type { GatewaySetup } from '../../support/gateway-in-process.ts';
import { defaultModels } from '../../support/models.ts';

/** Runs the host's code, or fails instead while the port is down. */
export type WhileDown = <T>(works: () => T) => T;

/** One port that is down. */
export interface PortRow {
  /** The number of the fault; rows about the same fault share it. */
  readonly id: string;
  /** The beginning of a sentence that the failure mode completes. */
  readonly fault: string;
  /** Only failures before the function returns are possible. */
  readonly isSynchronous?: true;
  readonly setup: (broken: WhileDown) => GatewaySetup;
  readonly expected: {
    /** The caller's status; 200 if it must notice nothing. */
    readonly status: 200 | 500 | 502 | 503;
    readonly calls: 0 | 1;
    /** The event: type, port and operation, or a type only. */
    readonly event: string | undefined;
    /** `later`: once the port is back. */
    readonly charge: 'usage' | 'later' | 'nothing';
  };
}

const refusedBefore = { status: 503, calls: 0, charge: 'nothing' } as const;
const unnoticed = { status: 200, calls: 1, charge: 'usage' } as const;
const neverCalled = (): never => {
  throw new Error('not in these rows');
};

/** In the order in which a call uses them. */
export const portRows: readonly PortRow[] = [
  {
    id: 'F63',
    fault: 'A key store',
    setup: (broken) => ({ options: { keys: { find: () => broken(() => undefined) } } }),
    expected: { ...refusedBefore, event: 'port_failed keys find' },
  },
  {
    id: 'F68',
    fault: 'A catalog',
    setup: (broken) => ({
      options: { catalog: { find: () => broken(() => undefined), list: neverCalled } },
    }),
    expected: { ...refusedBefore, event: 'port_failed catalog find' },
  },
  {
    id: 'F68',
    fault: 'A rate limiter',
    setup: (broken) => ({
      key: { rates: [{ calls: { perMinute: 1 } }] },
      options: {
        rateLimiter: {
          take: () => broken(() => ({ granted: true, remaining: [1] })),
          adjust: neverCalled,
        },
      },
    }),
    expected: { ...refusedBefore, event: 'port_failed rate_limiter take' },
  },
  {
    id: 'F68',
    fault: 'A rate limiter, once the model is known,',
    setup: (broken) => ({
      key: { rates: [{ tokens: { perDay: 1_000_000 } }] },
      options: {
        rateLimiter: {
          take: () => broken(() => ({ granted: true, remaining: [1] })),
          adjust: () => {},
        },
      },
    }),
    expected: { ...refusedBefore, event: 'port_failed rate_limiter take' },
  },
  {
    id: 'F68',
    fault: 'A rate limiter, at the end of a call,',
    setup: (broken) => ({
      key: { rates: [{ tokens: { perDay: 1_000_000 } }] },
      options: {
        rateLimiter: {
          take: () => ({ granted: true, remaining: [1] }),
          adjust: () => broken(() => {}),
        },
      },
    }),
    expected: { ...unnoticed, event: 'port_failed rate_limiter adjust' },
  },
  {
    id: 'F64',
    fault: 'A quota store, at reserve,',
    setup: (broken) => ({
      store: (quota) => ({ reserve: (input) => broken(() => quota.reserve(input)) }),
    }),
    expected: { ...refusedBefore, event: 'port_failed quota reserve' },
  },
  {
    id: 'F64',
    fault: 'A quota store, at reserve and at the release behind it,',
    setup: (broken) => ({
      store: (quota) => ({
        reserve: (input) => broken(() => quota.reserve(input)),
        release: (input) => broken(() => quota.release(input)),
      }),
    }),
    expected: { ...refusedBefore, event: 'port_failed quota release' },
  },
  {
    id: 'F65',
    fault: 'A quota store, at settle,',
    setup: (broken) => ({
      store: (quota) => ({ settle: (input) => broken(() => quota.settle(input)) }),
    }),
    expected: { ...unnoticed, event: 'port_failed quota settle', charge: 'later' },
  },
  {
    id: 'F68',
    fault: 'A quota store, at its check,',
    setup: (broken) => ({ store: () => ({ check: () => broken(() => ({ ok: true })) }) }),
    expected: { ...unnoticed, event: 'port_failed quota check' },
  },
  {
    id: 'F68',
    fault: 'A quota store, at sweep,',
    setup: (broken) => ({
      store: (quota) => ({ sweep: (options) => broken(() => quota.sweep(options)) }),
    }),
    expected: { ...unnoticed, event: 'port_failed quota sweep' },
  },
  {
    id: 'F76',
    fault: 'A usage sink',
    setup: (broken) => ({
      options: { usage: { record: () => broken(() => undefined), close: async () => {} } },
    }),
    expected: { ...unnoticed, event: 'port_failed usage record' },
  },
  {
    id: 'F76',
    fault: 'A listener',
    setup: (broken) => ({ options: { onEvent: () => broken(() => undefined) } }),
    expected: { ...unnoticed, event: undefined },
  },
  {
    id: 'F76',
    fault: 'A credential’s function, of the only channel,',
    setup: (broken) => {
      // One function: all models are served by one account.
      const credential = (): Promise<string> => broken(() => Promise.resolve('account-secret'));
      const models = defaultModels().map((model) => {
        const channels = model.channels.map((channel) => ({ ...channel, credential }));
        return { ...model, channels };
      });
      return { models };
    },
    expected: { status: 502, calls: 0, event: 'attempt_ended', charge: 'nothing' },
  },
  {
    id: 'F76',
    fault: 'A source of ids',
    isSynchronous: true,
    setup: (broken) => ({ options: { ids: () => broken(() => 'an-id-of-the-host') } }),
    expected: { status: 500, calls: 0, event: 'internal_error', charge: 'nothing' },
  },
];
