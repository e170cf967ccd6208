/**
 * Sends a short call through each channel, with a separate gateway for each: no key of the operator
 * is charged, and no other channel can answer in place of the one that is checked.
 */
import { createServer } from 'node:http';
import { nodeAdapter } from '../../../adapters/node.ts';
import { apiCalls } from '../../apis.ts';
import { staticCatalog } from '../../catalog/static-catalog.ts';
import type { Clock } from '../../clock.ts';
import { createGateway } from '../../gateway.ts';
import { issueKey } from '../../issue-key.ts';
import type { Channel, Model } from '../../ports/catalog.ts';
import { protocolsOf } from '../../ports/model-defaults.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { formatMoney, money } from '../../prices/amount.ts';
import { memoryKeyStore } from '../../stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../stores/memory/usage-sink.ts';
import { undiciClient } from '../../upstream/undici-client.ts';
import type { Finding } from '../output.ts';
import { textOf } from '../requests.ts';
import { addressOf, listenOn, stop } from '../serve/listen.ts';

const group = 'tollgate-check';

/** The findings about each channel of each model, one after another. */
export async function spendOnce(
  models: readonly Model[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const model of models) {
    for (const channel of model.channels) found.push(await spendOn(model, channel, clock));
  }
  return found;
}

async function spendOn(model: Model, channel: Channel, clock: Clock): Promise<Finding> {
  const subject = `call of ${model.id} through ${channel.id}`;
  const request = requestFor(protocolsOf(model), model.id);
  if (request === undefined) {
    return { state: 'warning', subject, detail: 'not tried: an image or native call costs more' };
  }
  const record = await callThrough(model, channel, request, clock);
  if (record?.outcome === 'complete') {
    const cost = formatMoney(record.chargeNanos);
    return {
      state: 'ok',
      subject,
      detail: `answered in ${Math.round(record.durationMs)} ms, at ${cost}`,
    };
  }
  const reason = record?.reason ?? 'refused by the gateway';
  return { state: 'failed', subject, detail: `failed (${record?.status ?? 'no call'}, ${reason})` };
}

interface CheckRequest {
  readonly path: string;
  readonly body: object;
}

/** The cheapest call of the first API of the table that the model offers. */
function requestFor(offered: readonly string[], model: string): CheckRequest | undefined {
  for (const [name, { paths, shortest }] of Object.entries(apiCalls)) {
    const [path] = Object.keys(paths);
    if (!offered.includes(name) || path === undefined || shortest === undefined) continue;
    return { path, body: { model, ...shortest } };
  }
  return undefined;
}

async function callThrough(
  model: Model,
  channel: Channel,
  { path, body }: CheckRequest,
  clock: Clock,
): Promise<UsageRecord | undefined> {
  const issued = issueKey({ group, limitNanos: money('1000000') });
  const { groups: _groups, maxPriceNanos: _price, ...open } = channel;
  const { fallbacks: _fallbacks, ...single } = model;
  const usage = memoryUsageSink();
  const gateway = createGateway({
    keys: memoryKeyStore({ keys: [issued] }),
    quota: memoryQuotaStore({ clock }),
    catalog: staticCatalog([{ ...single, groups: [group], channels: [{ ...open, weight: 1 }] }]),
    usage,
    clock,
  });
  const server = createServer(nodeAdapter(gateway));
  const client = undiciClient();
  try {
    await listenOn([{ member: 'check', server, port: 0, host: '127.0.0.1' }], () => {});
    const response = await client.send({
      method: 'POST',
      origin: `http://127.0.0.1:${addressOf(server).port}`,
      path,
      headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json' },
      body: [Buffer.from(JSON.stringify(body))],
      connectTimeoutMs: 5_000,
      freshConnection: true,
      onAbort: () => {},
    });
    await textOf(response.body);
  } finally {
    await client.close();
    await gateway.close();
    stop(server);
  }
  return usage.records.at(-1);
}
