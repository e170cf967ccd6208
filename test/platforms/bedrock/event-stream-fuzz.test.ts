// suite: search
/**
 * Event streams, sound, cut and damaged, are read as AWS's own codec reads them: half a million in
 * `npm run test:generators`, a tenth of them elsewhere.
 */
import { expect, it } from 'vitest';
import { runsOf } from '../../support/sample.ts';
import { drawn } from '../../support/seeds.ts';
import { ours, randomChunks, randomStream, theirs } from './event-stream.ts';

const streams = runsOf(500_000);

it('any bytes are read as by AWS, or refused', { timeout: 600_000 }, () => {
  for (let sequence = 10_000; sequence < 10_000 + streams; sequence += 1) {
    const draw = drawn(sequence);
    const stream = randomStream(draw);
    const read = ours(randomChunks(draw, stream));
    const expected = theirs(stream);
    // Compared as text first: a matcher takes longer than both readers.
    if (JSON.stringify(read) !== JSON.stringify(expected)) {
      expect(read, `sequence ${sequence}`).toEqual(expected);
    }
  }
});
