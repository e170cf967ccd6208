/**
 * One short call through one channel, to see whether it works. It runs in a gateway of its own: no
 * key is charged, no other channel answers in its place, and the health of the channel, which the
 * calls of users decide, stays as it is.
 */
import { finished } from 'node:stream/promises';
import { apiCalls } from '../apis.ts';
import { catalogOf } from '../catalog/static-catalog.ts';
import type { EventListener } from '../events/events.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { GatewayHandler, GatewayRequest } from '../http.ts';
import { issueKey } from '../issue-key.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model } from '../ports/models/catalog.ts';
import { protocolsOf, upstreamModelOf } from '../ports/models/model-defaults.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';
import { memoryKeyStore } from '../stores/memory/key-store.ts';
import { memoryQuotaStore } from '../stores/memory/quota-store.ts';
import { memoryUsageSink } from '../stores/memory/usage-sink.ts';

/** What became of one short call through a channel. */
export interface ChannelTest {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** The model, by its id in the catalog. */
  readonly modelId: string;
  /** The channel's name for the model. */
  readonly upstreamModel: string;
  /** Whether the channel gave a complete reply. */
  readonly passed: boolean;
  /** The HTTP status that the upstream sent; undefined if none arrived. */
  readonly status: number | undefined;
  /** Why it failed. */
  readonly reason: FailureReason | undefined;
  /** From the request to the end of the reply, in ms. */
  readonly durationMs: number;
  /** Tokens of the prompt; undefined if nobody counted them. */
  readonly inputTokens: number | undefined;
  /** Tokens of the reply; undefined if nobody counted them. */
  readonly outputTokens: number | undefined;
  /** What a key would have been charged; none is. */
  readonly chargeNanos: bigint;
  /** What the call costs the operator; undefined if the channel states no cost. */
  readonly costNanos: bigint | undefined;
}

interface TestGateway extends Pick<GatewayHandler, 'handle'> {
  close(options: { readonly drainMs: number }): Promise<void>;
}

interface TestDeps {
  readonly settings: Pick<Settings, 'clock' | 'timeouts'>;
  readonly client: UpstreamClient;
  readonly open: (options: GatewayOptions) => TestGateway;
}

const group = 'tollgate-test';
const limitNanos = 1_000_000_000_000_000n;
/** The whole call: an operator waits for it. */
const totalMs = 30_000;

/** Undefined if each API of the model costs too much for a test, such as images. */
export async function testChannel(
  model: Model,
  channel: Channel,
  { settings, client, open }: TestDeps,
): Promise<ChannelTest | undefined> {
  const call = shortestCall(model);
  if (call === undefined) return undefined;
  const { clock } = settings;
  const issued = issueKey({ group, limitNanos });
  const usage = memoryUsageSink();
  let refusal: FailureReason | undefined;
  const onEvent: EventListener = (event) => {
    if (event.type === 'call_refused') refusal = event.reason;
  };
  const gateway = open({
    keys: memoryKeyStore({ keys: [issued] }),
    quota: memoryQuotaStore({ clock }),
    catalog: catalogOf([alone(model, channel)]),
    // The client belongs to the gateway whose channel it is.
    upstream: { send: (request) => client.send(request), close: async () => {} },
    timeouts: settings.timeouts,
    ...{ usage, clock, onEvent },
  });
  const startedMs = clock.monotonicMs();
  try {
    await answered(gateway, requestOf(call, issued.secret));
  } finally {
    await gateway.close({ drainMs: 1 });
  }
  const record = usage.records.at(-1);
  return {
    ...{ channelId: channel.id, modelId: model.id },
    upstreamModel: upstreamModelOf(channel, model),
    passed: record?.outcome === 'complete',
    status: record?.attempts.at(-1)?.status,
    reason: record === undefined ? refusal : record.reason,
    durationMs: Math.round(record?.durationMs ?? clock.monotonicMs() - startedMs),
    inputTokens: record?.usage?.inputTokens,
    outputTokens: record?.usage?.outputTokens,
    chargeNanos: record?.chargeNanos ?? 0n,
    costNanos: record?.costNanos,
  };
}

/** The model with this channel alone, whatever its weight and its limits. */
function alone(model: Model, channel: Channel): Model {
  const { fallbacks: _fallbacks, rates: _rates, ...single } = model;
  const { groups: _groups, maxPriceNanos: _price, ...open } = channel;
  const timeouts = { ...model.timeouts, totalMs };
  const channels = [{ ...open, weight: 1, timeouts: { ...channel.timeouts, totalMs } }];
  return { ...single, groups: [group], timeouts, channels };
}

interface ShortCall {
  readonly path: string;
  readonly body: object;
}

/** The cheapest call of the first API of the table that the model offers. */
function shortestCall(model: Model): ShortCall | undefined {
  const offered: readonly string[] = protocolsOf(model);
  for (const [name, { paths, shortest }] of Object.entries(apiCalls)) {
    const [path] = Object.keys(paths);
    if (!offered.includes(name) || path === undefined || shortest === undefined) continue;
    return { path, body: { model: model.id, ...shortest } };
  }
  return undefined;
}

function requestOf({ path, body }: ShortCall, secret: string): GatewayRequest {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  return {
    ...{ method: 'POST', path, search: '', headers, rawHeaders: Object.entries(headers).flat() },
    body: Buffer.from(JSON.stringify(body)),
    onClose: () => {},
  };
}

async function answered(gateway: TestGateway, request: GatewayRequest): Promise<void> {
  const { body } = await gateway.handle(request);
  if (body instanceof Uint8Array) return;
  const reply = body.readable();
  // A reply that is cut has a record too.
  await finished(reply.resume()).catch(() => {});
}
