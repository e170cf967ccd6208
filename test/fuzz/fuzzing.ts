/**
 * Attacks one adapter in a separate process over raw sockets, and reports the state of the process.
 * `FUZZ_PARALLEL` is the number of concurrent connections.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { z } from 'zod';
import { childScript } from '../support/child-script.ts';
import { rawRequest } from '../support/raw-http.ts';
import { numbers } from '../support/seeds.ts';
import { play, scriptOf } from './connections.ts';

/** The adapters under attack. */
export const fuzzMounts = [
  'node',
  'express4',
  'express',
  'koa2',
  'koa',
  'fastify',
  'fetch',
  'hono',
] as const;

/** An adapter, with the version of its framework. */
export type FuzzMount = (typeof fuzzMounts)[number];

/** The report of the process. */
export interface FuzzReport {
  /** Uncaught exceptions, unhandled rejections, warnings, and alarming events of the gateway. */
  readonly problems: readonly string[];
  readonly inFlight: number;
  /** Calls that reached the upstream. */
  readonly served: number;
}

/** The result of the attack. */
export interface FuzzResult extends FuzzReport {
  /** The number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The status of a plain call afterwards. */
  readonly after: string | undefined;
}

/** Concurrent connections, which are silent most of the time. */
const parallel = Number(process.env.FUZZ_PARALLEL ?? 48);
const startedSchema = z.object({ started: z.object({ origin: z.string(), secret: z.string() }) });
const reportSchema = z.object({
  report: z.object({
    problems: z.array(z.string()),
    inFlight: z.number(),
    served: z.number().default(0),
  }),
});

/** Bundles the script of the process. */
export function buildFuzzHost(): Promise<string> {
  return childScript(join(import.meta.dirname, 'fuzz-host.ts'));
}

/** Runs that many connections, the same ones for the same seed of the run. */
export async function fuzz(
  script: string,
  mount: FuzzMount,
  connections: number,
): Promise<FuzzResult> {
  const child = spawn(process.execPath, [script, mount], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const { started } = startedSchema.parse(await nextMessageOf(child));
    const { origin, secret } = started;
    const chance = numbers(mount.length);
    const statuses: Record<string, number> = {};
    let remaining = connections;
    const player = async (): Promise<void> => {
      while (remaining > 0) {
        remaining -= 1;
        const received = await play(origin, scriptOf(chance, secret));
        for (const [, status = ''] of received.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
      }
    };
    await Promise.all(Array.from({ length: parallel }, player));
    const last = await play(origin, {
      writes: [{ afterMs: 0, bytes: Buffer.from(plainCall(secret)) }],
      ending: 'read',
      endsAfterMs: 0,
      isDeaf: false,
      // A busy machine may take long to finish what the other connections left.
      silenceMs: 60_000,
    });
    const report = await reportAtRest(child);
    return { ...report, statuses, after: /HTTP\/1\.1 (\d{3})/.exec(last)?.[1] };
  } finally {
    child.kill('SIGKILL');
  }
}

function plainCall(secret: string): string {
  return rawRequest('GET /v1/models', { authorization: `Bearer ${secret}`, connection: 'close' });
}

/** Asks until no call runs any more; calls of disconnected callers end by themselves. */
async function reportAtRest(child: ChildProcess): Promise<FuzzReport> {
  for (let tries = 0; ; tries += 1) {
    const message = nextMessageOf(child);
    child.send('report');
    const { report } = reportSchema.parse(await message);
    if (report.inFlight === 0 || tries === 100) return report;
    await after(100);
  }
}

function nextMessageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => {
      reject(new Error(`The process ended with ${code}.`));
    };
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}
