// suite: search
/** The caller’s stream does not depend on where the network splits the upstream’s stream. */
import { describe, expect, it } from 'vitest';
import { chat } from '../../support/any-model-gateway.ts';
import { drawn } from '../../support/seeds.ts';
import { type Protocol, withoutKeepAlive } from './caller-side.ts';
import {
  asking,
  eventStream,
  exchanged,
  goodStreams,
  type Layout,
  maskedIds,
  type Outcome,
  type Recorded,
  rows,
  streamLayouts,
  streams,
} from './exchange.ts';
import { eventsOf } from './oracle.ts';

/**
 * Short recordings are split at every third byte, starting at a different offset in each recording;
 * longer ones only at some positions. `TEST_FORM=full` splits short ones at every byte.
 */
const isFull = process.env.TEST_FORM === 'full';
const shortBytes = 1_300;
const everyByteOfShortOnes = isFull ? 1 : 3;
const cutsOfLongOnes = isFull ? 60 : 30;
const seeds = isFull ? [1, 2] : [1];

const brokenOnes = streams.filter((one) => !goodStreams.includes(one));

describe('a stream split into pieces of 1 to 7 bytes', () => {
  it.each(rows(streams))('to %s: %s', async (protocol, _name, recorded) => {
    for (const layout of streamLayouts[protocol]) {
      const uncut = await cut(protocol, layout, recorded, eventsOf(recorded.text));

      for (const seed of seeds) {
        const chunks = pieces(recorded.bytes, seed);
        expectSame(await cut(protocol, layout, recorded, chunks), uncut);
      }
    }
  });
});

describe('a stream split in two', () => {
  it.each(rows(goodStreams))('to %s: %s', async (protocol, _name, recorded) => {
    const { bytes } = recorded;
    const uncut = await cut(protocol, 'sse', recorded, [bytes]);

    for (const at of cutPoints(bytes.length)) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      expectSame(await cut(protocol, 'sse', recorded, chunks), uncut);
    }
  });

  // An error in the first chunk sets the status of the response, so that it matters whether it
  // arrived there.
  it.each(
    rows(brokenOnes),
  )('is an error wherever it is split, to %s: %s', async (protocol, _name, recorded) => {
    const { bytes } = recorded;

    for (const at of cutPoints(bytes.length)) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      const { answer: reply } = await cut(protocol, 'sse', recorded, chunks);

      expect(reply.text).toContain('"error":{');
      expect(reply.isCut).toBe(false);
    }
  });
});

describe('a chat whose caller asks for no usage', () => {
  it.each(
    rows(goodStreams).filter(([protocol]) => protocol === 'chat'),
  )('gets none, to %s: %s', async (_protocol, _name, { dialect, bytes }) => {
    const { answer: reply, gateway } = await exchanged(dialect, chat(), eventStream(bytes));

    expect(reply.text).not.toContain('"usage"');
    expect(reply.text).not.toContain('"choices":[]');
    expect(gateway.records[0]?.outcome).toBe(reply.status === 200 ? 'complete' : 'failed');
  });
});

function cut(
  protocol: Protocol,
  layout: Layout,
  { dialect }: Recorded,
  chunks: readonly (Uint8Array | string)[],
): Promise<Outcome> {
  return exchanged(dialect, asking(protocol, layout), eventStream(...chunks));
}

function expectSame(one: Outcome, other: Outcome): void {
  expect(one.answer.status).toBe(other.answer.status);
  const [text, otherText] = [one, other].map(({ answer }) => withoutKeepAlive(answer.text));
  expect(maskedIds(text ?? '')).toBe(maskedIds(otherText ?? ''));
  expect(figuresOf(one)).toEqual(figuresOf(other));
}

function figuresOf({ gateway }: Outcome): unknown {
  return gateway.records.map(({ usage, basis, chargeNanos, outcome, reason }) => ({
    usage,
    basis,
    chargeNanos,
    outcome,
    reason,
  }));
}

function cutPoints(length: number): readonly number[] {
  if (length <= shortBytes) {
    const every = Array.from({ length: length - 1 }, (_, at) => at + 1);
    return every.filter((at) => (at + length) % everyByteOfShortOnes === 0);
  }
  const draw = drawn(length);
  return Array.from({ length: cutsOfLongOnes }, () => 1 + draw(length - 1));
}

function pieces(bytes: Uint8Array, seed: number): readonly Uint8Array[] {
  const draw = drawn(seed);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + draw(7);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}
