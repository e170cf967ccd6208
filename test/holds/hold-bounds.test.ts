// suite: search
/**
 * The hold bounds the cost. 100 KB are planted at every place of valid bodies, for every protocol
 * and dialect, and an upstream reports every byte that it received as used. `HOLDS=full` plants
 * every kind at every place; otherwise the kinds take turns, and fewer places are planted for
 * streams and at one token per byte.
 */
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../src/json.ts';
import type { TokenPrice } from '../../src/money.ts';
import type { Capabilities, DialectName } from '../../src/ports/models/capabilities.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { gatewayInProcess, requestOf } from '../support/gateway-in-process.ts';
import { channel } from '../support/models.ts';
import { type Counting, countingUpstream } from './counting-upstream.ts';
import { planted, plants } from './plant.ts';
import { type ProtocolRow, protocolRows } from './seeds.ts';

const isFull = process.env.HOLDS === 'full';
/** Thousands of calls of 100 KB, on a machine that may be busy. */

const figures = {
  image: 1_000,
  audio: 100,
  video: 100,
  document: 3_000,
  reference: 5_000,
} as const;

const counting: Counting = {
  tokensPerByte: 0.4,
  media: figures,
  maxOutputTokens: 4_096,
  boundNames: [
    'max_tokens',
    'max_completion_tokens',
    'max_new_tokens',
    'n_predict',
    'maxOutputTokens',
    'max_output_tokens',
  ],
};

const plainPrice: TokenPrice = {
  per: 'token',
  rates: { input: 1_000_000n, output: 9_000_000n },
};
/** Every kind of token has a different rate, and long prompts have other rates again. */
const everyRate = tokenPrice({
  ...{ input: '1', cachedInput: '0.1', cacheWrite5m: '1.25', cacheWrite1h: '2' },
  ...{ audioInput: '7', imageInput: '3', videoInput: '2' },
  ...{ output: '9', reasoning: '4', audioOutput: '20', imageOutput: '30' },
  tiers: [
    {
      ...{ aboveInputTokens: 20_000, input: '2', cacheWrite5m: '2.5', audioInput: '14' },
      ...{ output: '18', imageOutput: '60' },
    },
  ],
});

/** A model of this protocol whose upstream counts like this. */
interface Setup extends Counting {
  readonly protocol: ProtocolRow['name'];
  readonly dialect: DialectName;
  readonly capabilities?: Capabilities | undefined;
}

/** Sends a body. Returns the record of the call, or undefined if it was refused. */
type Send = (
  request: ProtocolRow['requests'][number],
  body: JsonObject,
) => Promise<UsageRecord | undefined>;

function sender({ protocol, dialect, capabilities, ...counts }: Setup): Send {
  const model: Model = {
    id: 'm',
    vendor: 'Acme',
    protocols: [protocol],
    groups: ['staff'],
    price: counts.isMostExpensive ? everyRate : plainPrice,
    channels: [channel({ dialect, ...(capabilities === undefined ? {} : { capabilities }) })],
    maxOutputTokens: counts.maxOutputTokens,
    tokensPerByte: counts.tokensPerByte,
    mediaPartTokens: figures,
    maxCandidates: 8,
  };
  const records: UsageRecord[] = [];
  const { gateway } = gatewayInProcess({
    models: [model],
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 9_000_000_000_000_000n }] },
    options: {
      upstream: countingUpstream(counts),
      usage: { record: (record) => void records.push(record), close: async () => {} },
    },
  });
  return async (request, body) => {
    const sent = { ...request, body: { ...body, ...request.members } };
    const { status, body: reply } = await gateway.handle(requestOf(sent, []));
    if (!(reply instanceof Uint8Array)) {
      const stream = reply.readable();
      for await (const _piece of stream) void _piece;
    }
    if (status !== 200) return undefined;
    const record = records.at(-1);
    records.length = 0;
    if (record === undefined) throw new Error('The call left no record.');
    return record;
  };
}

function costsMore({ chargeNanos, heldNanos }: UsageRecord, at: string): readonly string[] {
  return chargeNanos > heldNanos ? [`${at}: ${chargeNanos} charged, ${heldNanos} held`] : [];
}

/**
 * Plants at every place of every seed, for one dialect. Returns the calls that cost more than they
 * held. For streams, and in a second run, only one place in `every` is planted, because the reply
 * does not affect the hold.
 */
async function plantEverywhere(
  { requests, seeds }: ProtocolRow,
  send: Send,
  every: number,
): Promise<{ readonly accepted: number; readonly violations: readonly string[] }> {
  const violations: string[] = [];
  let accepted = 0;
  for (const seed of seeds) {
    for (const [index, request] of requests.entries()) {
      for (const [which, plant] of plants.entries()) {
        let place = 0;
        for (const { at, body } of planted(seed, plant)) {
          place += 1;
          const isSkipped = place % (index === 0 ? every : 8) !== 0;
          if (!isFull && (isSkipped || (place + index) % plants.length !== which)) continue;
          if (!isJsonObject(body)) continue;
          const record = await send(request, body);
          if (record === undefined) continue;
          accepted += 1;
          violations.push(...costsMore(record, `${plant.what} at ${at} over ${request.path}`));
        }
      }
    }
  }
  return { accepted, violations };
}

describe.each(protocolRows)('$name ($served): no place costs more than was held', (row) => {
  const { capabilities } = row;

  it.each(row.dialects)('over %s, at the default rate', async (dialect) => {
    const send = sender({ ...counting, protocol: row.name, dialect, capabilities });

    const { accepted, violations } = await plantEverywhere(row, send, 1);

    expect(violations).toEqual([]);
    expect(accepted).toBeGreaterThan(0);
  });

  it.each(row.dialects)('over %s, at one token a byte', async (dialect) => {
    const send = sender({
      ...counting,
      tokensPerByte: 1,
      protocol: row.name,
      dialect,
      capabilities,
    });

    const { accepted, violations } = await plantEverywhere(row, send, 6);

    expect(violations).toEqual([]);
    expect(accepted).toBeGreaterThan(0);
  });

  it.each(row.dialects)('over %s, whatever kinds the tokens are', async (dialect) => {
    const setup = {
      ...counting,
      isMostExpensive: true,
      protocol: row.name,
      dialect,
      capabilities,
    } as const;

    const { accepted, violations } = await plantEverywhere(row, sender(setup), 3);

    expect(violations).toEqual([]);
    expect(accepted).toBeGreaterThan(0);
  });

  it.each(
    row.dialects,
  )('over %s, with members that are repeated or have another type', async (dialect) => {
    const send = sender({ ...counting, protocol: row.name, dialect, capabilities });
    const violations: string[] = [];

    for (const body of row.aliases) {
      for (const request of row.requests) {
        const record = await send(request, body);
        if (record !== undefined) violations.push(...costsMore(record, JSON.stringify(body)));
      }
    }

    expect(violations).toEqual([]);
  });
});

it('chat: an upstream that only supports `max_tokens` gets the bound under that name', async () => {
  const [row] = protocolRows;
  const [request] = row?.requests ?? [];
  if (row === undefined || request === undefined) throw new Error('There is no chat.');
  const setup = { ...counting, boundNames: ['max_tokens'], protocol: row.name } as const;
  const capabilities = { maxTokensField: 'max_tokens' } as const;
  const send = sender({ ...setup, dialect: 'openai', capabilities });

  const messages = [{ role: 'user', content: 'hi' }];
  const record = await send(request, { messages, max_completion_tokens: 1 });

  expect(record?.usage).toMatchObject({ outputTokens: 1 });
  expect(record?.chargeNanos).toBeLessThanOrEqual(record?.heldNanos ?? 0n);
});
