/** What arrives a byte at a time takes at most twice its bytes, wherever it is held. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { lookAtHead, readHead } from '../../src/bytes/body/head.ts';
import { elementCutter } from '../../src/bytes/json/stream/elements.ts';
import { pieces } from '../../src/bytes/pieces.ts';
import { eventCutter } from '../../src/bytes/sse.ts';
import type { ByteSink, UpstreamBody } from '../../src/ports/upstream-client.ts';
import { openedBody } from '../../src/stages/opened-body.ts';

const length = 1_000_000;
/**
 * Other code of the process allocates too, now and then a few hundred kilobytes. One object a byte
 * would take a hundred times the bytes.
 */
const noise = 1024 * 1024;
const mostBytes = 2 * length + noise;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Buffers are given back by a thread of V8's own, some time after the collection. */
async function collected(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    collect();
    await setImmediate();
  }
}

/** The memory that is held after `fill`, by what it gives back. */
async function heldAfter(fill: (crumb: Uint8Array) => void): Promise<number> {
  const crumbs = Buffer.alloc(64, 'a');
  await collected();
  const before = process.memoryUsage();
  for (let at = 0; at < length; at += 1) {
    fill(crumbs.subarray(at % 64, (at % 64) + 1));
  }
  await collected();
  const after = process.memoryUsage();
  return after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
}

describe('a byte at a time is held in at most twice its bytes', () => {
  it('by the cutter of events', async () => {
    const cutter = eventCutter(length);
    expect(await heldAfter((crumb) => cutter.push(crumb))).toBeLessThan(mostBytes);
    expect(cutter.rest()).toHaveLength(length);
  });

  it('by the cutter of array elements', async () => {
    const cutter = elementCutter(length + 2);
    cutter.push(Buffer.from('["'));
    expect(await heldAfter((crumb) => cutter.push(crumb))).toBeLessThan(mostBytes);
    expect(cutter.rest()).toHaveLength(length + 2);
  });

  it('by whatever joins pieces', async () => {
    const joined = pieces();
    expect(await heldAfter((crumb) => joined.add(crumb))).toBeLessThan(mostBytes);
    expect(joined.drain()).toHaveLength(length);
  });

  it('by who reads the head of a body, and between two readers', async () => {
    let sink: ByteSink | undefined;
    const body = openedBody(
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
    // A stream is looked at until it says something, and what says nothing is not kept.
    const look = lookAtHead(body, (chunk) => chunk[0] === 0x3f);
    expect(await heldAfter((crumb) => sink?.write(crumb))).toBeLessThan(noise);
    sink?.write(Buffer.from('?'));
    expect(await look).toEqual({ ended: false });

    const head = readHead(body, (chunk) => chunk[0] === 0x21);
    expect(await heldAfter((crumb) => sink?.write(crumb))).toBeLessThan(mostBytes);
    sink?.write(Buffer.from('!'));
    expect((await head).bytes).toHaveLength(length + 1);
    // Nobody reads now.
    expect(await heldAfter((crumb) => sink?.write(crumb))).toBeLessThan(mostBytes);
    body.abort();
  });
});

it('what is drained is in order, and what follows begins anew', () => {
  const collected = pieces();
  const parts = ['a', 'b'.repeat(5_000), 'c', 'd', 'e'.repeat(20_000), 'f'];
  for (let round = 0; round < 3; round += 1) {
    for (const part of parts) collected.add(Buffer.from(part));
    expect(Buffer.from(collected.drain()).toString()).toBe(parts.join(''));
    expect(collected.byteLength()).toBe(0);
    expect(collected.drain()).toHaveLength(0);
  }
});
