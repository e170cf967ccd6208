/** Starts the built program `tollgate` as a process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { type Script, script } from '../../../src/testing/providers/scripts.ts';
import type { FakeUpstream } from '../../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../../providers/strict-upstream.ts';
import { program } from '../../support/built.ts';

/** A temporary folder inside the repo, so that the drivers are found. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes `tollgate.json`. */
export function writeConfig(folder: string, config: object): void {
  writeFileSync(join(folder, 'tollgate.json'), JSON.stringify(config));
}

/** What a command printed, and its exit code. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command to its end. */
export async function ran(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = started(folder, args, env);
  const [out, err, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'exit'),
  ]);
  return { code, out, err };
}

/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A running `tollgate serve`. */
export interface Served {
  readonly origin: string;
  readonly child: ChildProcess;
  readonly lines: readonly LogLine[];
  /** The first line of this event, or the one with this number; waits for it. */
  until(event: string, count?: number): Promise<LogLine>;
  /** What it has written to standard error so far. */
  readonly errors: () => string;
  /** The group of the first match on standard error, or of the one with this number; waits. */
  untilError(pattern: RegExp, count?: number): Promise<string>;
  /** The exit code. */
  readonly exited: Promise<number | null>;
}

/** Starts `tollgate serve`; resolves when it listens. */
export async function served(
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const child = started(folder, ['serve'], env);
  const exited = once(child, 'exit').then(([code]): number | null => code);
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line: LogLine = JSON.parse(text);
    lines.push(line);
    for (const look of waiting) look();
  });
  const when = <T>(found: () => T | undefined): Promise<T> => {
    const arrives = new Promise<T>((resolve) => {
      const look = (): void => {
        const value = found();
        if (value === undefined) waiting.add(look);
        else {
          waiting.delete(look);
          resolve(value);
        }
      };
      look();
    });
    return Promise.race([arrives, exited.then((code) => failed(code, child))]);
  };
  const until = (event: string, count = 1): Promise<LogLine> =>
    when(() => lines.filter((line) => line.event === event)[count - 1]);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
    for (const look of waiting) look();
  });
  const listening = await Promise.race([
    until('listening'),
    exited.then((code) => Promise.reject(new Error(`ended with ${code}: ${errors}`))),
  ]);
  return {
    origin: `http://127.0.0.1:${listening.port}`,
    child,
    lines,
    until,
    exited,
    errors: () => errors,
    untilError: (pattern, count = 1) => when(() => [...errors.matchAll(pattern)][count - 1]?.[1]),
  };
}

function failed(code: number | null, { pid }: ChildProcess): never {
  throw new Error(`process ${pid} ended with ${code} before the line`);
}

function started(folder: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

/** A model served by an upstream of the dialect openai. */
export function modelAt(baseUrl: string, id = 'gpt-4o-mini'): object {
  return {
    id,
    groups: ['staff'],
    price: { per: 'token', input: '0.15', output: '0.60' },
    maxOutputTokens: 1_000,
    channels: [
      { id: 'openai-1', dialect: 'openai', baseUrl, credential: ['${', 'KEY', '}'].join('') },
    ],
  };
}

/** A chat call. */
export function chat(origin: string, secret: string, more: object = {}): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Hello' }],
      ...more,
    }),
  });
}

/**
 * A stream that says something, waits, and ends with the usage of 10 and 20 tokens. It may also
 * wait before it says anything.
 */
export function waitingStream(
  opened: Promise<void>,
  begun: Promise<void> = Promise.resolve(),
): Script {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini' };
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  return script.sse([
    begun,
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Once' } }] },
    opened,
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chunk, choices: [], usage },
    '[DONE]',
  ]);
}

/** The charge of {@link waitingStream} at the prices of {@link modelAt}, in nanos. */
export const waitingStreamCharge = '13500';

/** Issues the key `ada`; returns its secret. */
export async function issuedAda(
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const args = ['keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'ada'];
  const { code, out, err } = await ran(folder, args, env);
  if (code !== 0) throw new Error(`keys issue ended with ${code}: ${err}`);
  return out.trim();
}

/** A folder with a configuration over SQLite and a fake upstream. */
export async function sqliteHost(): Promise<{
  readonly folder: string;
  readonly upstream: FakeUpstream;
  readonly config: object;
}> {
  const upstream = await startStrictUpstream();
  onTestFinished(() => upstream.close());
  const folder = newFolder();
  const config = {
    listen: { port: 0, host: '127.0.0.1' },
    stores: { sqlite: { path: './data/tollgate.db' } },
    catalog: { models: [modelAt(upstream.openaiBaseUrl)] },
  };
  writeConfig(folder, config);
  return { folder, upstream, config };
}

/** What the quota store and the usage log have for the key `ada`. */
export interface Books {
  readonly balance: { readonly usedNanos: string; readonly heldNanos: string };
  /** The sum of its charges in the log. */
  readonly charged: string;
  /** The number of its calls there. */
  readonly calls: number;
}

/** Reads both by the commands that an operator uses. */
export async function booksOf(
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<Books> {
  const list = await ran(folder, ['keys', 'list', '--json'], env);
  const usage = await ran(folder, ['usage', '--json'], env);
  const { total } = JSON.parse(usage.out);
  const [balance] = JSON.parse(list.out).data[0].balances;
  return { balance, charged: total.chargeNanos, calls: total.calls };
}
