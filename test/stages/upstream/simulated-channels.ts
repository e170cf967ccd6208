/**
 * Simulated channels that behave as a test says at each time, with a gateway whose clock advances
 * by half seconds: what callers get and how long they wait, with the default timeouts.
 */

import { UpstreamError } from '../../../src/errors.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { FailureReason } from '../../../src/failure-reasons.ts';
import type { KeyStore } from '../../../src/ports/keys/key-store.ts';
import type { UpstreamClient, UpstreamRequest } from '../../../src/ports/upstream-client.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';
import { transportError } from '../../../src/upstream/transport-error.ts';
import {
  type CallerReply,
  type CallerRequest,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, model, replies } from '../../support/models.ts';
import { turns } from '../ports/failing.ts';

/** The behaviour of an upstream for a call that arrives now. */
export type Conduct =
  | { readonly kind: 'answers'; readonly afterMs: number }
  | { readonly kind: 'says'; readonly status: number; readonly retryAfter?: number }
  | { readonly kind: 'hangs' | 'resets' | 'refuses' | 'black_hole' };

/** The behaviour by channel id and time in ms since the start. */
export type Conducts = (channelId: string, nowMs: number) => Conduct;

/** The outcome of one call. */
export interface Outcome {
  readonly key: string;
  readonly beganMs: number;
  readonly tookMs: number;
  /** 0 if the caller disconnected. */
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** A gateway with simulated channels a, b, …. */
export interface Simulation {
  readonly harness: InProcessGateway;
  readonly clock: FakeClock;
  readonly outcomes: readonly Outcome[];
  /** The channels that calls were sent to so far: `aab`. */
  visited(): string;
  /** The number of calls that a channel has at this moment. */
  running(channelId: string): number;
  /** Sends one call and resolves with its outcome. The caller disconnects after `leavesMs`. */
  call(
    request: CallerRequest,
    caller?: { readonly key?: string; readonly leavesMs?: number },
  ): Promise<Outcome>;
  /** Lets time pass, running everything that is due. */
  pass(ms: number): Promise<void>;
  /** Lets time pass until the promise settles. */
  until<T>(over: Promise<T>): Promise<T>;
  states(): readonly string[];
}

/** Makes channels of equal priority if `isEqual`, else with priorities in this order. */
export function simulation(
  ids: readonly string[],
  conducts: Conducts,
  options: { readonly isEqual?: boolean; readonly random?: () => number } = {},
): Simulation {
  const { isEqual = false, random = () => 0.5 } = options;
  const visits: string[] = [];
  const running = new Map<string, number>();
  const upstream = simulatedUpstream(() => harness.clock, conducts, visits, running);
  const channels = ids.map((id, index) =>
    channel({ id, priority: isEqual ? 0 : index, baseUrl: `https://${id}.example/v1` }),
  );
  const image = { per: 'image', rows: [{ nanos: 1n }] } as const;
  const models = [
    model({ channels }),
    model({ id: 'image', protocols: ['images'], price: image, channels }),
  ];
  const harness: InProcessGateway = gatewayInProcess({
    models,
    options: { upstream, random, keys: anyKey },
  });
  const { clock } = harness;
  const outcomes: Outcome[] = [];

  const step = async (): Promise<void> => {
    clock.advance(stepMs);
    await turns();
  };

  return {
    harness,
    clock,
    outcomes,
    visited: () => visits.join(''),
    running: (channelId) => running.get(channelId) ?? 0,
    call: async (request, { key = 'one', leavesMs } = {}) => {
      const beganMs = clock.monotonicMs();
      const headers = { authorization: `Bearer ${key}`, 'x-vendor-api-key': key };
      const calling = harness.start({ ...request, headers });
      let hasDisconnected = false;
      if (leavesMs !== undefined) {
        once(clock, leavesMs, () => {
          hasDisconnected = true;
          calling.disconnect();
        });
      }
      const reply: CallerReply = await calling.reply;
      const outcome: Outcome = {
        key,
        beganMs,
        tookMs: clock.monotonicMs() - beganMs,
        status: hasDisconnected ? 0 : reply.status,
        retryAfter: reply.headers['retry-after'],
      };
      outcomes.push(outcome);
      return outcome;
    },
    pass: async (ms) => {
      await turns();
      for (let passed = 0; passed < ms; passed += stepMs) await step();
    },
    until: async (over) => {
      let isOver = false;
      const seen = over.finally(() => {
        isOver = true;
      });
      await turns();
      while (!isOver) await step();
      return seen;
    },
    states: () =>
      harness.events
        .filter((event): event is Changed => event.type === 'channel_changed')
        .map(({ channelId, state, reason }) => [channelId, state, reason].join(' ').trim()),
  };
}

type Changed = Extract<GatewayEvent, { readonly type: 'channel_changed' }>;

const stepMs = 500;

const anyKey: KeyStore = {
  find: (secret) => ({
    id: secret,
    group: 'staff',
    disabled: false,
    quota: [{ id: secret, period: 'total', limitNanos: 10n ** 15n }],
  }),
};

function once(clock: FakeClock, ms: number, act: () => void): void {
  if (ms === 0) return act();
  const stop = clock.every(ms, () => {
    stop();
    act();
  });
}

function simulatedUpstream(
  clockOf: () => FakeClock,
  conducts: Conducts,
  visits: string[],
  running: Map<string, number>,
): UpstreamClient {
  const send = (request: UpstreamRequest): ReturnType<UpstreamClient['send']> =>
    new Promise((resolve, reject) => {
      const clock = clockOf();
      const id = new URL(request.origin).hostname.split('.')[0] ?? '';
      visits.push(id);
      running.set(id, (running.get(id) ?? 0) + 1);
      let isOver = false;
      const over = (act: () => void): void => {
        if (isOver) return;
        isOver = true;
        running.set(id, (running.get(id) ?? 0) - 1);
        act();
      };
      const fail = (stage: 'connect' | 'sent', reason: FailureReason, timedOut = false): void =>
        over(() => reject(new UpstreamError(stage, reason, { timedOut })));
      const conduct = conducts(id, clock.monotonicMs());
      const isDialling = conduct.kind === 'black_hole';
      request.onAbort((error) =>
        over(() => reject(transportError(error, isDialling ? 'connect' : 'sent'))),
      );
      switch (conduct.kind) {
        case 'answers':
          return once(clock, conduct.afterMs, () => over(() => resolve(reply(request))));
        case 'says':
          return over(() => resolve(refusal(conduct.status, conduct.retryAfter)));
        case 'refuses':
          return fail('connect', 'connect_refused');
        case 'resets':
          return fail('sent', 'reset');
        case 'black_hole':
          return once(clock, request.connectTimeoutMs, () =>
            fail('connect', 'connect_timeout', true),
          );
        default:
          return;
      }
    });
  return { send, close: async () => {} };
}

type Response = Awaited<ReturnType<UpstreamClient['send']>>;

function reply({ path, headers }: UpstreamRequest): Response {
  const isStream = headers.accept === 'text/event-stream';
  const kind = path.endsWith('/images/generations') ? 'image' : isStream ? 'chatStream' : 'chat';
  return response(200, replies[kind], isStream ? 'text/event-stream' : 'application/json');
}

function refusal(status: number, retryAfter: number | undefined): Response {
  const { headers, ...rest } = response(status, '{"error":{"message":"No."}}', 'application/json');
  const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  return { ...rest, headers: { ...headers, ...wait } };
}

function response(status: number, text: string, type: string): Response {
  const bytes = Buffer.from(text);
  return {
    status,
    headers: { 'content-type': type },
    body: {
      takeWhole: (limit) => (bytes.length <= limit ? bytes : undefined),
      start: (sink) => {
        sink.write(bytes);
        sink.end();
      },
      pause: () => {},
      resume: () => {},
      abort: () => {},
    },
  };
}
