/**
 * `npm run test:fuzz`: each adapter in a separate process, with `FUZZ_CONNECTIONS` connections to
 * each.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { seed } from '../support/seeds.ts';
import { buildFuzzHost, fuzz, fuzzMounts } from './fuzzing.ts';

const connections = Number(process.env.FUZZ_CONNECTIONS ?? 400);
let script = '';

beforeAll(async () => {
  script = await buildFuzzHost();
}, 60_000);

describe.each(fuzzMounts)('%s', (mount) => {
  it(`survives ${connections} connections of seed ${seed}`, async () => {
    const { statuses, served, ...result } = await fuzz(script, mount, connections);

    process.stdout.write(`${mount}: ${JSON.stringify({ connections, served, statuses })}\n`);
    expect(result).toEqual({ problems: [], inFlight: 0, after: '200' });
    expect(served).toBeGreaterThan(0);
  });
});
