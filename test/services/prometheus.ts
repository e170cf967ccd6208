/**
 * A private Prometheus for a suite, from Debian's package: it scrapes one address, evaluates the
 * rules of one file and keeps its data in a folder of its own.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { closed, listening } from '../support/servers.ts';

/** A running server. */
export interface PrometheusServer {
  /** The series of an expression, now or at a time in Unix seconds. */
  query(expression: string, atSeconds?: number): Promise<readonly PrometheusSample[]>;
  /** The alerts of the rules, each with its expression. */
  alerts(): Promise<readonly { readonly name: string; readonly query: string }[]>;
  stop(): Promise<void>;
}

/** One series of a result. */
export interface PrometheusSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Whether suites that need Prometheus can run; prints a line if they cannot.
 *
 * @throws if `REQUIRE_SERVICES=1` and they cannot
 */
export function hasPrometheus(): boolean {
  if (spawnSync('prometheus', ['--version']).status === 0) return true;
  const sentence =
    'Prometheus is not installed: its suites are SKIPPED. apt-get install prometheus';
  if (process.env.REQUIRE_SERVICES === '1') throw new Error(sentence);
  process.stderr.write(`\n*** ${sentence}\n\n`);
  return false;
}

/** Starts a server that scrapes `http://<target>/metrics` five times a second. */
export async function startPrometheus(target: string, ruleFile: string): Promise<PrometheusServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  // JSON is YAML.
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '1h' },
      rule_files: [ruleFile],
      scrape_configs: [{ job_name: 'tollgate', static_configs: [{ targets: [target] }] }],
    }),
  );
  const { child, origin } = await started(config, folder);
  return {
    query: async (expression, atSeconds) => {
      const time = atSeconds === undefined ? {} : { time: String(atSeconds) };
      const search = new URLSearchParams({ query: expression, ...time });
      const { data } = vectors.parse(await json(`${origin}/api/v1/query?${search}`));
      return data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value: +value }));
    },
    alerts: async () => {
      const { data } = ruleGroups.parse(await json(`${origin}/api/v1/rules?type=alert`));
      return data.groups.flatMap(({ rules }) => rules);
    },
    stop: async () => {
      await ended(child);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const vectors = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        value: z.tuple([z.number(), z.string()]),
      }),
    ),
  }),
});

const ruleGroups = z.object({
  data: z.object({
    groups: z.array(
      z.object({ rules: z.array(z.object({ name: z.string(), query: z.string() })) }),
    ),
  }),
});

async function json(url: string): Promise<unknown> {
  const reply = await fetch(url);
  const text = await reply.text();
  if (!reply.ok) throw new Error(`Prometheus answered ${reply.status}: ${text}`);
  return JSON.parse(text);
}

/** It does not tell which port it got for 0, so it gets one that was free, and another if taken. */
async function started(
  config: string,
  folder: string,
): Promise<{ readonly child: ChildProcess; readonly origin: string }> {
  for (;;) {
    const origin = await freeOrigin();
    const child = spawn(
      'prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${new URL(origin).host}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    // An aborted run must not leave a server behind.
    const kill = (): boolean => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('close', () => process.off('exit', kill));
    const output = await readyOutput(child);
    if (output === undefined) return { child, origin };
    await ended(child);
    if (!output.includes('address already in use')) {
      throw new Error(`prometheus did not start: ${output}`);
    }
  }
}

async function freeOrigin(): Promise<string> {
  const server = createServer();
  const origin = await listening(server);
  await closed(server);
  return origin;
}

/** Resolves to undefined when the server is ready, or to its output when it has ended. */
function readyOutput(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.once('error', reject);
    child.once('close', () => resolve(output));
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      output = (output + piece).slice(-8192);
      if (output.includes('Server is ready to receive web requests')) resolve(undefined);
    });
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closing = once(child, 'close');
  child.kill('SIGKILL');
  await closing;
}
