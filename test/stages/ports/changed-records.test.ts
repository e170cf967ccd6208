// suite: search
/**
 * A host that changes the record of a model while a call runs: the call ends, with one usage record
 * and with its hold settled, and an event says so if its charge could not be computed.
 */
import { describe, expect, it } from 'vitest';
import type { Catalog, Model } from '../../../src/ports/models/catalog.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  chat,
  defaultModels,
  headersOf,
  type Kind,
  kinds,
  replies,
  sampleRequests,
  streamBeginnings,
  unbounded,
} from '../../support/models.ts';
import { pass, turns } from './failing.ts';

const values: readonly unknown[] = [undefined, null, 'text', -5n, 5n, -1, 9e99, Number.NaN, {}, []];

/** Where a record is changed: the path to a member. */
const places: readonly string[] = [
  'id',
  'price',
  'price.per',
  'price.rates',
  'price.rates.input',
  'price.rates.output',
  'price.rows',
  'price.rows.0.nanos',
  'maxOutputTokens',
  'contextTokens',
  'vendor',
  'groups',
  'fallbacks',
  'channels.0.cost',
  'channels.0.cost.per',
  'channels.0.cost.rates',
  'channels.0.upstreamModel',
  'channels.0.usageTrust',
];

/** Changes the member at a path, if the record has the objects on the way to it. */
function change(record: object, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let holder: unknown = record;
  for (const name of names) {
    holder = typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined;
  }
  if (typeof holder === 'object' && holder !== null) Reflect.set(holder, last, value);
}

/** A record of its own for each call, which may be changed. */
function changeable(id: string): Model {
  const model = [...defaultModels(), unbounded('chat-open')].find((one) => one.id === id);
  if (model === undefined) throw new Error(`no model ${id}`);
  const cost = { per: 'token', rates: { input: 1n, output: 1n } } as const;
  const channels = model.channels.map((one) => channel({ ...one, cost }));
  return structuredClone({ ...model, channels });
}

const modelOf: Readonly<Record<Kind, string>> = {
  chat: 'chat',
  chatStream: 'chat',
  image: 'image',
  native: 'native',
  nativeStream: 'native',
};

/** The cost of the replies. */
const exact: Readonly<Record<Kind, bigint>> = {
  chat: 20n,
  chatStream: 20n,
  image: 500n,
  native: 20n,
  nativeStream: 20n,
};

describe.each(kinds)('a call for %s', (kind) => {
  it.each(places)('is settled and recorded whatever becomes of %s', async (path) => {
    for (const value of values) {
      const record = changeable(modelOf[kind]);
      const shown = typeof value === 'object' ? JSON.stringify(value) : String(value);
      const about = `${path} = ${shown}`;
      const { start, upstream, state, nextRecord, events, records } = gatewayInProcess({
        key: { rates: [{ tokens: { perDay: 1_000_000 } }] },
        options: { catalog: { find: () => record, list: () => [record] } },
      });
      const calling = start(sampleRequests[kind]);
      await turns();

      change(record, path, value);
      upstream.calls[0]?.answer(200, replies[kind], headersOf(kind));
      const { status } = await calling.reply;

      expect(status, about).toBe(200);
      const { chargeNanos, heldNanos, requestId, modelId } = await nextRecord();
      await turns();
      expect(modelId, about).toBe(modelOf[kind]);
      expect(records.length, about).toBe(1);
      expect(await state(), about).toEqual({ held: 0n, used: chargeNanos, inFlight: 0 });
      const bugs = events.filter(({ type }) => type === 'internal_error');
      expect(bugs, about).toEqual(bugs.map((bug) => ({ ...bug, requestId })));
      const isReported =
        (bugs.length > 0 && chargeNanos === heldNanos) ||
        events.some(({ type }) => type === 'usage_anomaly');
      // A host may change a rate to another one, or remove that of the output.
      const isRate =
        path.startsWith('price.') && (typeof value === 'bigint' || value === undefined);
      if (!isReported && !isRate) expect(chargeNanos, about).toBe(exact[kind]);
    }
  });
});

it('charges a stream that can’t be priced any more its hold, and renews all leases', async () => {
  const record = changeable('chat-open');
  const catalog: Catalog = {
    find: (id) => (id === 'native' ? changeable(id) : record),
    list: () => [record],
  };
  const { start, upstream, clock, nextRecord, state, quota } = gatewayInProcess({
    options: { catalog, leaseMs: 6_000 },
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 100_000n }] },
  });
  const calling = start(chat({ model: 'chat-open', stream: true }));
  start(sampleRequests.native);
  await turns();
  upstream.calls[0]?.respond(200, headersOf('chatStream'));
  upstream.calls[0]?.write(streamBeginnings.chatStream);
  await calling.firstBytes;
  const { held } = await state();

  change(record, 'price.rates', undefined);
  upstream.calls[0]?.write(streamBeginnings.chatStream);
  await pass(clock, 30_000);
  await quota.sweep({ max: 10 });

  expect(await state()).toEqual({ held, used: 0n, inFlight: 2 });
  upstream.calls[0]?.write(replies.chatStream);
  upstream.calls[0]?.end();
  const { status } = await calling.reply;
  expect(status).toBe(200);
  const { chargeNanos, heldNanos } = await nextRecord();
  expect(chargeNanos).toBe(heldNanos);
  expect(await state()).toEqual({ held: held - heldNanos, used: heldNanos, inFlight: 1 });
});
