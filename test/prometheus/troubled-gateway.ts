/**
 * A gateway with its metrics, whose calls end in every possible way, to test the dashboard and the
 * alerts.
 */
import client from 'prom-client';
import { type PrometheusMetrics, prometheusMetrics } from 'tollgate/prometheus';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { Price } from '../../src/money.ts';
import { StoreUnavailable } from '../../src/ports/call-options.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { Catalog, Model } from '../../src/ports/models/catalog.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { inTime, pass } from '../stages/ports/failing.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import {
  type CallerRequest,
  type CallInProgress,
  callerSecret,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import {
  channel,
  chat,
  completeReply,
  headersOf,
  image,
  model,
  replies,
  sampleRequests,
  streamBeginnings,
  unbounded,
} from '../support/models.ts';

/** A gateway, its metrics, and what its callers do. */
export interface TroubledGateway {
  readonly register: client.Registry;
  /** Calls that complete, of each kind. */
  serveWell(): Promise<void>;
  /** The provider revokes the credential of a model's only channel. */
  lockOut(): Promise<void>;
  /** A call for each way in which one may not complete, and one for each event of trouble. */
  serveBadly(): Promise<void>;
}

/** What the test switches off, for a while. */
export interface Faults {
  settleIsDown: boolean;
  reserveIsDown: boolean;
  holdsAreGone: boolean;
  keysAreDown: boolean;
  recordIsChanged: boolean;
  releaseIsSlow: boolean;
}

/** A gateway over stores that the test switches off, and its metrics. */
export interface FaultyGateway {
  readonly harness: InProcessGateway;
  readonly faults: Faults;
  readonly register: client.Registry;
  readonly metrics: PrometheusMetrics;
}

/** Creates a gateway. It need not be closed: neither timers nor sockets are real. */
export function faultyGateway(setup: Pick<GatewaySetup, 'runsBesideOthers'> = {}): FaultyGateway {
  const faults: Faults = {
    settleIsDown: false,
    reserveIsDown: false,
    holdsAreGone: false,
    keysAreDown: false,
    recordIsChanged: false,
    releaseIsSlow: false,
  };
  const harness: InProcessGateway = gatewayInProcess({
    ...setup,
    store: (quota) => failingStore(quota, faults, (ms) => harness.clock.advance(ms)),
    options: {
      catalog: changingCatalog(faults),
      keys: {
        find: (secret) => {
          if (faults.keysAreDown) throw new StoreUnavailable('down');
          return secret === callerSecret ? key : undefined;
        },
      },
    },
  });
  const register = new client.Registry();
  const metrics = prometheusMetrics(harness.gateway, { register });
  return { harness, faults, register, metrics };
}

/** Creates the gateway of the dashboard's test. */
export function troubledGateway(): TroubledGateway {
  const { harness, faults, register, metrics } = faultyGateway();
  return {
    register,
    serveWell: () => serveWell(harness),
    lockOut: () => answered(harness, chat({ model: 'locked' }), (up) => up.answer(401, {})),
    serveBadly: async () => {
      await serveBadly(harness, faults);
      const reason = 'is invalid';
      metrics.onEvent({ type: 'catalog_refused', source: 'models.json', reason });
      metrics.onEvent({ type: 'config_refused', source: 'tollgate.json', reason });
    },
  };
}

const key = {
  id: 'caller',
  group: 'staff',
  disabled: false,
  quota: [
    { id: 'caller', period: 'total', limitNanos: 1_000_000n },
    { id: 'small', period: 'total', limitNanos: 100_000n },
  ],
} as const;

/** A fifth of what the callers pay. */
const cost: Price = { per: 'token', rates: { input: 200_000n, output: 400_000n } };

/** A channel for each model, so that none suffers from the failures of another. */
function channelOf(id: string): Model['channels'] {
  return [channel({ id: `${id}-channel`, baseUrl: `https://${id}-channel.example/v1`, cost })];
}

const models: readonly Model[] = [
  model({ channels: channelOf('chat') }),
  model({
    id: 'image',
    protocols: ['images'],
    price: { per: 'image', rows: [{ size: '1024x1024', nanos: 500n }] },
    channels: [channel({ id: 'image-channel', baseUrl: 'https://image-channel.example/v1' })],
  }),
  model({ id: 'cut-off', channels: channelOf('cut-off') }),
  model({ id: 'slow', channels: channelOf('slow') }),
  model({ id: 'locked', channels: channelOf('locked') }),
  model({
    id: 'spared',
    channels: [
      ...channelOf('first'),
      ...channelOf('second').map((spare) => ({ ...spare, priority: 1 })),
    ],
  }),
  model({ id: 'limited', channels: channelOf('limited'), fallbacks: ['chat'] }),
  model({
    ...{ id: 'dear', channels: channelOf('dear'), maxOutputTokens: 5 },
    price: { per: 'token', rates: { input: 2_000_000_000n, output: 4_000_000_000n } },
  }),
  {
    ...unbounded('open'),
    channels: channelOf('open').map((dear) => ({
      ...dear,
      cost: tokenPrice({ input: '1', output: '1' }),
    })),
  },
];

/** Its model `changed` throws once the test says so, like a record that the host overwrites. */
function changingCatalog(faults: Faults): Catalog {
  const { price, ...rest } = model({ id: 'changed', channels: channelOf('changed') });
  const changed: Model = {
    ...rest,
    get price() {
      if (faults.recordIsChanged) throw new TypeError('The record was changed.');
      return price;
    },
  };
  const others = staticCatalog(models);
  return {
    find: (id) => (id === changed.id ? changed : others.find(id)),
    list: (...input) => others.list(...input),
  };
}

function failingStore(
  quota: QuotaStore,
  faults: Faults,
  advance: (ms: number) => void,
): Partial<QuotaStore> {
  const down = (): Promise<never> => Promise.reject(new StoreUnavailable('down'));
  return {
    reserve: (...input) => (faults.reserveIsDown ? down() : quota.reserve(...input)),
    settle: (...input) => (faults.settleIsDown ? down() : quota.settle(...input)),
    release: async (...input) => {
      await Promise.resolve();
      if (faults.releaseIsSlow) advance(700);
      return quota.release(...input);
    },
    extend: async (inputs, options) => {
      if (!faults.holdsAreGone) return quota.extend(inputs, options);
      return inputs.map(() => ({ status: 'gone', as: 'expired' }));
    },
  };
}

async function serveWell(harness: InProcessGateway): Promise<void> {
  const cached = {
    ...JSON.parse(replies.chat),
    usage: {
      ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      prompt_tokens_details: { cached_tokens: 4 },
    },
  };
  await answered(harness, sampleRequests.chat, (up) => up.answer(200, cached));
  await answered(harness, sampleRequests.chatStream, completeReply('chatStream'));
  await answered(harness, sampleRequests.image, completeReply('image'));
}

async function serveBadly(harness: InProcessGateway, faults: Faults): Promise<void> {
  faults.settleIsDown = false;
  await pass(harness.clock, 60_000);
  await refusals(harness, faults);
  await upstreamFailures(harness, faults);
  await brokenReplies(harness);
  await oddities(harness, faults);
  await lostMoney(harness, faults);
}

async function refusals(harness: InProcessGateway, faults: Faults): Promise<void> {
  await harness.call(chat({ model: 'invented' }));
  await harness.call({ ...sampleRequests.chat, withoutKey: true });
  faults.keysAreDown = true;
  await inTime(harness.clock, harness.call(sampleRequests.chat));
  faults.keysAreDown = false;
  faults.reserveIsDown = true;
  await inTime(harness.clock, harness.call(sampleRequests.chat));
  faults.reserveIsDown = false;
}

async function upstreamFailures(harness: InProcessGateway, faults: Faults): Promise<void> {
  faults.releaseIsSlow = true;
  await answered(harness, sampleRequests.chat, (up) => up.answer(400, {}));
  faults.releaseIsSlow = false;
  await harness.call(chat({ model: 'locked' }));
  const limited = harness.start(chat({ model: 'limited' }));
  await replied(harness, limited, (up) => up.answer(429, {}), completeReply('chat'));
  await answered(harness, image(), (up) => up.breakOff('headers_timeout', { timedOut: true }));
}

async function brokenReplies(harness: InProcessGateway): Promise<void> {
  const request = chat({ model: 'cut-off' });
  const stream = chat({ model: 'cut-off', stream: true });
  await answered(harness, request, (up) => {
    up.respond(200, headersOf('chat'));
    up.write(replies.chat.slice(0, -1));
    up.end();
  });
  await answered(harness, stream, (up) => {
    begin(up);
    up.breakOff('reset');
  });
  const left = harness.start(stream);
  begin(await harness.upstream.next());
  await left.firstBytes;
  left.disconnect();
  await pass(harness.clock, 3_000);
  const endless = harness.start(stream);
  const up = await harness.upstream.next();
  begin(up);
  await endless.firstBytes;
  for (let minute = 0; minute < 15 && up.abortReason === undefined; minute += 1) {
    await pass(harness.clock, 60_000);
    up.write(streamBeginnings.chatStream);
  }
  await inTime(harness.clock, endless.reply);
}

const begin: CallHandler = (up) => {
  up.respond(200, headersOf('chatStream'));
  up.write(streamBeginnings.chatStream);
};

async function oddities(harness: InProcessGateway, faults: Faults): Promise<void> {
  const { usage: _missing, ...withoutUsage } = JSON.parse(replies.chat);
  await answered(harness, sampleRequests.chat, (up) => up.answer(200, withoutUsage));
  await answered(harness, chat({ model: 'open' }), completeReply('chat'));
  await answered(harness, chat({ model: 'dear' }), completeReply('chat'));
  const slow = harness.start(chat({ model: 'slow', stream: true }));
  const up = await harness.upstream.next();
  await pass(harness.clock, 12_000);
  completeReply('chatStream')(up);
  await slow.reply;
  faults.holdsAreGone = true;
  const lapsed = harness.start(sampleRequests.chat);
  const late = await harness.upstream.next();
  await pass(harness.clock, 60_000);
  faults.holdsAreGone = false;
  completeReply('chat')(late);
  await lapsed.reply;
  const changed = harness.start(chat({ model: 'changed' }));
  const running = await harness.upstream.next();
  faults.recordIsChanged = true;
  completeReply('chat')(running);
  await changed.reply;
  faults.recordIsChanged = false;
}

async function lostMoney(harness: InProcessGateway, faults: Faults): Promise<void> {
  faults.settleIsDown = true;
  await answered(harness, sampleRequests.chat, completeReply('chat'));
  await pass(harness.clock, 16 * 60_000);
  await answered(harness, sampleRequests.chat, completeReply('chat'));
  await pass(harness.clock, 100_000);
}

/** Makes a call, which the upstream handles like this. */
async function answered(
  harness: InProcessGateway,
  request: CallerRequest,
  handler: CallHandler,
): Promise<void> {
  await replied(harness, harness.start(request), handler);
}

/** Makes a call; the upstream handles each attempt like this until the caller has the reply. */
async function replied(
  harness: InProcessGateway,
  calling: CallInProgress,
  ...handlers: readonly CallHandler[]
): Promise<void> {
  for (const handler of handlers) {
    const next = await Promise.race([harness.upstream.next(), calling.reply]);
    if ('text' in next) throw new Error(`The call reached no upstream: ${next.text}`);
    handler(next);
  }
  await inTime(harness.clock, calling.reply);
}
