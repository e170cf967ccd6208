/** Prints for how long each of the worst bodies holds up the event loop, the longest at a time. */
import { availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { chat, native, testGateway } from '../support/call-gateway.ts';
import { playedUpstream } from '../support/played-upstream.ts';
import { searchedBodies, type WorstBody, worstBodies } from './bodies.ts';

/** What we aim for; nothing fails where it is missed, for that depends on the machine. */
const goalMs = 100;

interface Measured {
  readonly name: string;
  readonly megabytes: string;
  readonly status: number;
  readonly longestMs: number;
}

/**
 * The longest time between two turns of the event loop while the gateway answers: of the clock or
 * of the processor, whichever is less, for on a busy machine a turn also waits for other processes.
 */
async function measured({ name, dialect, protocol, body }: WorstBody): Promise<Measured> {
  const upstream = playedUpstream({ status: 400, chunks: ['{}'] });
  const gateway = testGateway({
    upstream,
    channel: { dialect, upstreamModel: 'm' },
    model: { price: { per: 'token', inputPerMillionNanos: 0n, outputPerMillionNanos: 0n } },
  });
  const bytes = Buffer.from(body);
  let longestMs = 0;
  let last = performance.now();
  let lastCpu = process.cpuUsage();
  const turn = (): void => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(lastCpu);
    longestMs = Math.max(longestMs, Math.min(now - last, (user + system) / 1_000));
    lastCpu = process.cpuUsage();
    last = now;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const asked = protocol === 'chat' ? chat(bytes) : native('json', bytes);
  const { status } = await gateway.call(asked);
  turn();
  clearImmediate(next);
  return { name, megabytes: (bytes.length / 1e6).toFixed(1), status, longestMs };
}

/** The better of two: code is compiled during the first, and memory collected in either. */
async function betterOf(body: WorstBody): Promise<Measured> {
  const first = await measured(body);
  const second = await measured(body);
  return first.longestMs < second.longestMs ? first : second;
}

function line({ name, megabytes, status, longestMs }: Measured): string {
  const mark = longestMs > goalMs ? '!' : ' ';
  const figures = `${longestMs.toFixed(0).padStart(6)} ms ${mark} ${status}`;
  return `${figures} ${megabytes.padStart(5)} MB  ${name}\n`;
}

function say(text: string): void {
  process.stdout.write(text);
}

it('prints the longest section of each body', async () => {
  const machine = `${cpus()[0]?.model ?? '?'}, ${availableParallelism()} cores, ${process.version}`;
  say(`\nLongest sections, goal ${goalMs} ms (${machine})\n`);
  for (const body of worstBodies) say(line(await betterOf(body)));

  const found: Measured[] = [];
  for (const body of searchedBodies()) found.push(await measured(body));
  const worst = found.toSorted((one, other) => other.longestMs - one.longestMs).slice(0, 15);
  say(`\nThe worst of ${found.length} that the search made\n${worst.map(line).join('')}\n`);

  expect(worstBodies.length + found.length).toBeGreaterThan(100);
});
