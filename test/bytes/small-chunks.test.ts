// suite: search
/** Bytes that arrive one at a time take at most twice their size, wherever they are buffered. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ChunkBuffer } from '../../src/bytes/chunk-buffer.ts';
import { elementCutter } from '../../src/bytes/json/stream/elements.ts';
import { eventCutter } from '../../src/bytes/sse.ts';
import type { ByteSink, UpstreamBody } from '../../src/ports/upstream-client.ts';
import { peekHead, readHead } from '../../src/upstream/body/head.ts';
import { OpenedBody } from '../../src/upstream/body/opened.ts';

const length = 1_000_000;
/**
 * Other code of the process allocates too, sometimes a few hundred kilobytes. One object for each
 * byte would take a hundred times the bytes.
 */
const noise = 1024 * 1024;
const maxBytes = 2 * length + noise;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** V8 frees buffers in a separate thread, some time after the collection. */
async function collected(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    collect();
    await setImmediate();
  }
}

/** The memory that is held after `fill`. */
async function heldAfter(fill: (chunk: Uint8Array) => void): Promise<number> {
  const source = Buffer.alloc(64, 'a');
  await collected();
  const before = process.memoryUsage();
  for (let at = 0; at < length; at += 1) {
    fill(source.subarray(at % 64, (at % 64) + 1));
  }
  await collected();
  const after = process.memoryUsage();
  return after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
}

describe('bytes that arrive one at a time take at most twice their size', () => {
  it('in the event cutter', async () => {
    const cutter = eventCutter(length);
    expect(await heldAfter((chunk) => cutter.push(chunk))).toBeLessThan(maxBytes);
    expect(cutter.rest()).toHaveLength(length);
  });

  it('in the element cutter', async () => {
    const cutter = elementCutter(length + 2);
    cutter.push(Buffer.from('["'));
    expect(await heldAfter((chunk) => cutter.push(chunk))).toBeLessThan(maxBytes);
    expect(cutter.rest()).toHaveLength(length + 2);
  });

  it('in a chunk buffer', async () => {
    const joined = new ChunkBuffer();
    expect(await heldAfter((chunk) => joined.add(chunk))).toBeLessThan(maxBytes);
    expect(joined.drain()).toHaveLength(length);
  });

  it('in the reader of a body’s beginning, and between two readers', async () => {
    let sink: ByteSink | undefined;
    const body = new OpenedBody(
      {
        takeWhole: () => undefined,
        start: (target) => {
          sink = target;
        },
        pause: () => {},
        resume: () => {},
        abort: () => {},
      } satisfies UpstreamBody,
      undefined,
    );
    // A peek keeps no bytes of the chunks that are not enough.
    const look = peekHead(body, (chunk) => chunk[0] === 0x3f);
    expect(await heldAfter((chunk) => sink?.write(chunk))).toBeLessThan(noise);
    sink?.write(Buffer.from('?'));
    expect(await look).toEqual({ ended: false });

    const head = readHead(body, (chunk) => chunk[0] === 0x21);
    expect(await heldAfter((chunk) => sink?.write(chunk))).toBeLessThan(maxBytes);
    sink?.write(Buffer.from('!'));
    expect((await head).bytes).toHaveLength(length + 1);
    // No reader is attached now.
    expect(await heldAfter((chunk) => sink?.write(chunk))).toBeLessThan(maxBytes);
    body.abort();
  });
});

it('a drained buffer returns its chunks in order and starts empty', () => {
  const collected = new ChunkBuffer();
  const parts = ['a', 'b'.repeat(5_000), 'c', 'd', 'e'.repeat(20_000), 'f'];
  for (let round = 0; round < 3; round += 1) {
    for (const part of parts) collected.add(Buffer.from(part));
    expect(Buffer.from(collected.drain()).toString()).toBe(parts.join(''));
    expect(collected.byteLength()).toBe(0);
    expect(collected.drain()).toHaveLength(0);
  }
});
