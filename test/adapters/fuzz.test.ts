// suite: search host
/**
 * A sample of the fuzz test over raw sockets; `npm run test:fuzz` runs all of it, on every Node
 * line.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { buildFuzzHost, fuzz, fuzzMounts } from '../fuzz/fuzzing.ts';

let script = '';

beforeAll(async () => {
  script = await buildFuzzHost();
});

describe.each(fuzzMounts)('a process with the adapter for %s', (mount) => {
  it('survives hostile connections, and serves afterwards', async () => {
    const { problems, inFlight, after } = await fuzz(script, mount, 80);

    expect({ problems, inFlight, after }).toEqual({ problems: [], inFlight: 0, after: '200' });
  });
});
