/** `npm start` in a separate process, and what it printed. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { quickstart } from '../support/built.ts';

/** A temporary folder for the demo's data. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-quickstart-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Starts the built example, by default in a new folder. It is killed after the test. */
export function start(
  env: Readonly<Record<string, string>>,
  folder: string = newFolder(),
): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn(process.execPath, [quickstart], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

/** The same, when it has printed everything. */
export async function started(
  port: string,
  env: Readonly<Record<string, string>> = {},
  folder?: string,
): Promise<{ readonly child: ChildProcess; readonly output: string }> {
  const child = start({ PORT: port, ...env }, folder);
  let output = '';
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (output.includes('Ctrl-C')) break;
  }
  return { child, output };
}

/** All that a stream prints. */
export async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

/** The arguments of a printed curl command as a shell would parse them, up to a pipe. */
export async function send(
  line: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const [command = ''] = line.split(' | ');
  const url = /(https?:\/\/[^\s"]+)/.exec(command)?.[1] ?? '';
  const headers = [...command.matchAll(/-H ['"]([^:]+): ([^'"]+)['"]/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
  const body = /-d '([^']+)'/.exec(command)?.[1];
  const answer = await fetch(url, {
    headers,
    ...(body === undefined ? {} : { method: 'POST', body }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** The printed curl commands, with the exported variables filled in. */
export function commandsIn(output: string): readonly string[] {
  const variables = new Map(
    [...output.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
  return output
    .split('\n')
    .filter((line) => line.startsWith('curl '))
    .map((line) => line.replace(/\$(\w+)/g, (_, name: string) => variables.get(name) ?? ''));
}

/** The command of a chat. */
export function chatLineOf(output: string): string {
  return commandsIn(output)[0] ?? '';
}

/** `http://localhost:8787` */
export function originOf(output: string): string {
  return /http:\/\/localhost:\d+/.exec(output)?.[0] ?? '';
}

/** `:8787/` */
export function portOf(output: string): string {
  return `:${new URL(originOf(output)).port}/`;
}

/** The keys that it printed. */
export function secretsOf(output: string): readonly (string | undefined)[] {
  return [...output.matchAll(/KEY=(tg_[\w-]+)/g)].map(([, secret]) => secret);
}

/** The first bytes of the image in a reply. */
export function pngOf(text = '{}'): string {
  const base64 = /"b64_json":\s*"([^"]+)"/.exec(text)?.[1] ?? '';
  return Buffer.from(base64, 'base64').subarray(0, 4).toString('latin1');
}
