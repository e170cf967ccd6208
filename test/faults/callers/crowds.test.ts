// suite: search
/** Rows F55 and F59: many callers that disconnect at random offsets, and hundreds at once. */

import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { hang } from '../../../src/testing/providers/scripts.ts';
import { type UnmountedGateway, unmountedGateway } from '../../support/mounted-gateway.ts';
import { type Kind, nanosOf, streamKinds } from '../kinds.ts';
import { countedRows } from '../rows/counted.ts';
import { allMounts, isFull } from '../rows/row.ts';
import { answering, bigImage, bytesOf, modelsFor, neverEnding } from './calls.ts';
import { answersIn, type RawCaller, rawCaller } from './raw-caller.ts';
import { mountNamed } from './run-caller-script.ts';

countedRows('F55, F59 with many callers');

const leaving = allMounts.flatMap((mount) => streamKinds.map((kind) => ({ mount, kind })));
/** For each of eight mounts and kinds: some hundreds of callers in total. */
const callersPerCell = isFull ? 100 : 40;

describe('F55 callers that disconnect from a stream at a random byte', () => {
  it.each(leaving)('$kind · $mount', async ({ mount, kind }) => {
    const { harness, origin, state } = await serving(kind, mount);
    const offsets = fc.sample(fc.integer({ min: 1, max: 4_000 }), { numRuns: callersPerCell });
    harness.upstream.enqueue(...offsets.map(() => neverEnding(kind, 100)));

    await Promise.all(
      offsets.map(async (offset) => {
        const caller = await calling(origin, kind, harness);
        await caller.until((received) => received.length >= offset);
        caller.reset();
      }),
    );
    const records = await Promise.all(offsets.map(() => harness.nextRecord()));
    await harness.drained();

    const endings = await Promise.all(harness.upstream.calls.map(({ closed }) => closed));
    expect(endings).toEqual(offsets.map(() => 'aborted'));
    for (const record of records) {
      expect(record).toMatchObject({ status: 499, outcome: 'caller_left' });
      expect(record.chargeNanos).toBeGreaterThan(0n);
    }
    const used = records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
    expect(await state()).toMatchObject({ held: 0n, used, inFlight: 0 });
    expect(harness.records).toHaveLength(offsets.length);
  });
});

describe('F55 callers that disconnect from an image at a random byte: it is charged', () => {
  it.each(allMounts)('image · %s', async (mount) => {
    const { harness, origin, state } = await serving('images', mount);
    const offsets = fc.sample(fc.integer({ min: 1, max: 100_000 }), { numRuns: 20 });
    harness.upstream.enqueue(...offsets.map(() => bigImage(300_000)));

    await Promise.all(
      offsets.map(async (offset) => {
        const caller = await calling(origin, 'images', harness);
        await caller.until((received) => received.length >= offset);
        caller.reset();
      }),
    );
    const records = await Promise.all(offsets.map(() => harness.nextRecord()));
    await harness.drained();

    expect(records).toEqual(
      offsets.map(() =>
        expect.objectContaining({ outcome: 'complete', chargeNanos: nanosOf('images') }),
      ),
    );
    const used = nanosOf('images') * BigInt(offsets.length);
    expect(await state()).toMatchObject({ held: 0n, used, inFlight: 0 });
  });
});

it('F59 500 callers disconnect at once: all are settled, connections at most doubled', async () => {
  const callers = 500;
  const { harness, origin, state } = await serving('chat_stream', 'node:http');
  harness.upstream.enqueue(...Array.from({ length: callers }, hang));
  const sockets = await Promise.all(
    Array.from({ length: callers }, () => calling(origin, 'chat_stream', harness)),
  );
  await Promise.all(sockets.map(() => harness.upstream.nextCall()));

  for (const socket of sockets) socket.reset();
  const records = await Promise.all(sockets.map(() => harness.nextRecord()));
  harness.upstream.enqueue(answering('chat_stream'));
  const last = await calling(origin, 'chat_stream', harness);
  await last.until((received) => answersIn(received).length === 1);
  const { connectionId } = await harness.upstream.nextCall();
  await harness.nextRecord();
  await harness.drained();

  expect(new Set(records.map(({ status }) => status))).toEqual(new Set([499]));
  // Each is charged for its prompt.
  const prompts = records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
  expect(prompts).toBeGreaterThan(0n);
  const used = prompts + nanosOf('chat_stream');
  expect(await state()).toMatchObject({ held: 0n, used, inFlight: 0 });
  expect(connectionId).toBeLessThanOrEqual(2 * callers + 1);
});

interface Serving {
  readonly harness: UnmountedGateway;
  readonly origin: string;
  state(): Promise<unknown>;
}

async function serving(kind: Kind, mount: string): Promise<Serving> {
  const quota = memoryQuotaStore();
  const harness = await unmountedGateway({ quota }, modelsFor(kind));
  const host = await mountNamed(mount).start(harness.gateway);
  onTestFinished(async () => {
    await host.close();
    await harness.close();
  });
  return {
    harness,
    origin: host.origin,
    state: async () => quota.read('chat-key', '', defaultPartition),
  };
}

async function calling(origin: string, kind: Kind, harness: UnmountedGateway): Promise<RawCaller> {
  const caller = await rawCaller(origin);
  onTestFinished(caller.close);
  caller.send(bytesOf(kind, harness.secrets.chat));
  return caller;
}
