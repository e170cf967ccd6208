// suite: quick host
/** Event streams are read as AWS's own codec reads them, however their bytes arrive. */

import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { EventStreamDecoder } from '../../../src/platforms/bedrock/reply-body.ts';
import { drawn } from '../../support/seeds.ts';
import { ours, randomChunks, randomMessage, randomStream, theirs } from './event-stream.ts';
import { chunk, message, replyEvents } from './messages.ts';

const reply = Buffer.concat(replyEvents().map(chunk));

describe('an event stream', () => {
  it('is read alike wherever it is cut into two chunks', () => {
    const whole = theirs(reply);

    for (let at = 0; at <= reply.length; at += 1) {
      expect(ours([reply.subarray(0, at), reply.subarray(at)])).toEqual(whole);
    }
    expect(whole.read).toHaveLength(replyEvents().length);
  });

  it('is read byte by byte', () => {
    expect(ours([...reply].map((byte) => Buffer.from([byte])))).toEqual(theirs(reply));
  });

  it('has the messages that are complete, wherever it ends', () => {
    const ends: number[] = [];
    let end = 0;
    for (const event of replyEvents()) {
      end += chunk(event).length;
      ends.push(end);
    }

    for (let at = 0; at <= reply.length; at += 1) {
      const { read, isBroken } = ours([reply.subarray(0, at)]);
      expect([read.length, isBroken]).toEqual([ends.filter((one) => one <= at).length, false]);
    }
  });

  it('has no message of which any bit differs, and those before it', () => {
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = replyEvents().map(chunk);
    const stream = Buffer.concat([first, second]);

    for (let at = first.length; at < stream.length; at += 1) {
      const changed = Buffer.from(stream);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(ours([changed]).read, `byte ${at}`).toHaveLength(1);
    }
  });

  it('is read as by AWS with headers of each type, cut or damaged', () => {
    for (let sequence = 0; sequence < 2_000; sequence += 1) {
      const draw = drawn(sequence);
      const stream = randomStream(draw);
      expect(ours(randomChunks(draw, stream)), `sequence ${sequence}`).toEqual(theirs(stream));
    }
  });

  it('may have messages without headers and payload', () => {
    expect(ours([message({}, '')])).toEqual({ read: [{ headers: {}, body: '' }], isBroken: false });
  });

  it('is refused at the prelude of a message that is too large, before it is buffered', () => {
    const prelude = Buffer.alloc(12);
    prelude.writeUInt32BE(64 * 1024 * 1024, 0);
    prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);

    expect(() => new EventStreamDecoder().write(prelude, () => {})).toThrow('event_too_large');
  });

  it('is refused if headers reach beyond their message', () => {
    const draw = drawn(7);
    const sound = randomMessage(draw);
    for (let claimed = sound.length - 15; claimed < sound.length + 20; claimed += 1) {
      const changed = Buffer.from(sound);
      changed.writeUInt32BE(claimed, 4);
      changed.writeUInt32BE(crc32(changed.subarray(0, 8)), 8);
      changed.writeUInt32BE(crc32(changed.subarray(0, -4)), changed.length - 4);
      expect(ours([changed]).isBroken).toBe(true);
    }
  });
});
