// suite: search
/**
 * A body that is delivered in turns of the event loop: every byte once and in order, no more in a
 * turn than is allowed, whatever the client's chunks and the reader's pauses are.
 */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ByteSink } from '../../src/ports/upstream-client.ts';
import type { DetachableBody } from '../../src/upstream/body/head.ts';
import { BodyInTurns, turnBytes } from '../../src/upstream/body/in-turns.ts';

/** A client's body, whose chunks the test writes; it notes whether it should pause. */
function clientBody() {
  let sink: ByteSink | undefined;
  const state = { isPaused: false, isAborted: false };
  const body: DetachableBody = {
    takeWhole: () => undefined,
    start: (target) => {
      sink = target;
      state.isPaused = false;
    },
    detach: () => {
      sink = undefined;
    },
    pause: () => {
      state.isPaused = true;
    },
    resume: () => {
      state.isPaused = false;
    },
    abort: () => {
      state.isAborted = true;
    },
  };
  return { body, state, sink: () => sink };
}

/** Collects what it reads, by turn. */
function collector() {
  const turns: number[] = [];
  const chunks: Uint8Array[] = [];
  let isNewTurn = true;
  let ended: 'no' | 'end' | 'fail' = 'no';
  const sink: ByteSink = {
    write: (chunk) => {
      if (isNewTurn) {
        turns.push(0);
        isNewTurn = false;
      }
      turns.push((turns.pop() ?? 0) + chunk.length);
      chunks.push(chunk);
    },
    end: () => {
      ended = 'end';
    },
    fail: () => {
      ended = 'fail';
    },
  };
  const nextTurn = async (): Promise<void> => {
    await setImmediate();
    isNewTurn = true;
  };
  return { sink, turns, chunks, nextTurn, ended: () => ended };
}

const chunkSizes = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: turnBytes - 2, max: 3 * turnBytes }),
  ),
  { minLength: 1, maxLength: 6 },
);
const actions = fc.array(fc.constantFrom('pause', 'resume', 'detach', 'none'), { maxLength: 12 });

function bytesOf(size: number, from: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, index) => (from + index) % 251);
}

it('each byte comes once and in order, a bounded number in each turn', () =>
  fc.assert(
    fc.asyncProperty(chunkSizes, actions, async (sizes, list) => {
      const client = clientBody();
      const reader = collector();
      const body = new BodyInTurns(client.body);
      body.start(reader.sink);
      let total = 0;
      for (const size of sizes) {
        client.sink()?.write(bytesOf(size, total));
        total += size;
      }
      client.sink()?.end();

      for (const action of list) {
        if (action === 'pause') body.pause();
        if (action === 'resume') body.resume();
        const read = reader.chunks.length;
        if (action === 'detach') body.detach();
        await reader.nextTurn();
        if (action === 'detach') {
          expect(reader.chunks.length).toBe(read);
          body.start(reader.sink);
        }
      }
      body.resume();
      for (let turn = 0; turn <= total / turnBytes + 2; turn += 1) await reader.nextTurn();

      expect(reader.ended()).toBe('end');
      expect(Buffer.concat(reader.chunks).equals(bytesOf(total, 0))).toBe(true);
      expect(Math.max(...reader.turns)).toBeLessThanOrEqual(turnBytes);
    }),
    { numRuns: 40 },
  ));

it('a paused reader gets nothing, and the client is paused with it', async () => {
  const client = clientBody();
  const reader = collector();
  const body = new BodyInTurns(client.body);
  body.start(reader.sink);
  client.sink()?.write(bytesOf(4 * turnBytes, 0));
  await reader.nextTurn();
  body.pause();
  const read = reader.chunks.length;
  await reader.nextTurn();
  await reader.nextTurn();

  expect(reader.chunks.length).toBe(read);
  expect(client.state.isPaused).toBe(true);

  body.resume();
  for (let turn = 0; turn < 5; turn += 1) await reader.nextTurn();

  expect(Buffer.concat(reader.chunks).length).toBe(4 * turnBytes);
  expect(client.state.isPaused).toBe(false);
});

it('a failure is reported at once, and an abort ends the delivery', async () => {
  const failing = { client: clientBody(), reader: collector() };
  const aborted = { client: clientBody(), reader: collector() };
  for (const { client, reader } of [failing, aborted]) {
    const body = new BodyInTurns(client.body);
    body.start(reader.sink);
    client.sink()?.write(bytesOf(3 * turnBytes, 0));
    if (client === failing.client) client.sink()?.fail(new Error('reset'));
    else body.abort();
    await reader.nextTurn();
    await reader.nextTurn();
  }

  expect([failing.reader.ended(), failing.reader.chunks.length]).toEqual(['fail', 0]);
  expect([aborted.reader.ended(), aborted.reader.chunks.length]).toEqual(['no', 0]);
  expect(aborted.client.state.isAborted).toBe(true);
});
