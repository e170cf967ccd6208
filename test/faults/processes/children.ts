/** Builds and starts the processes of rows F74–F83, and exchanges messages with them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { build, type Options } from 'tsup';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { issueKey } from '../../../src/issue-key.ts';

const root = join(import.meta.dirname, '../../..');
/** In the repo, so that Node finds the packages of the bundles. */
export const outDir: string = join(root, '.build/faults');

/** Bundles the scripts of this folder that run in separate processes or threads. */
export async function buildChildren(): Promise<void> {
  const scripts = ['host', 'thread', 'twice'].map((name) => {
    return [name, join(import.meta.dirname, `${name}.ts`)];
  });
  const copies = { 'copy/index': 'src/index.ts', 'copy/node': 'adapters/node.ts' };
  await Promise.all([
    build({ ...plain, entry: Object.fromEntries(scripts), format: 'esm' }),
    build({
      ...plain,
      entry: Object.fromEntries(
        Object.entries(copies).map(([name, path]) => [name, join(root, path)]),
      ),
      format: ['esm', 'cjs'],
    }),
  ]);
}

const plain: Options = {
  outDir,
  config: false,
  tsconfig: join(root, 'tsconfig.json'),
  target: 'node20',
  silent: true,
  outExtension: ({ format }) => ({ js: format === 'esm' ? '.mjs' : '.cjs' }),
};

/** The options of a host. */
export interface HostSetup {
  readonly openaiBaseUrl: string;
  readonly workers?: number;
  /** If false, its quota store asks this process by message. */
  readonly ownsBooks?: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly nodeFlags?: readonly string[];
  /** The maximum number of open files. */
  readonly files?: number;
}

/** A running host. */
export interface Host {
  readonly child: ChildProcess;
  readonly origin: string;
  readonly secret: string;
  /** Resolves with the first message that has this member. */
  waitFor(member: string): Promise<unknown>;
  order(order: 'count' | 'close' | 'block', ms?: number): void;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Its stderr. */
  errors(): string;
}

/** Starts a host, and ends it with the test. */
export async function startHost(setup: HostSetup): Promise<Host> {
  const { nodeFlags = [], files, ...rest } = setup;
  const { secret } = issueKey({ group: 'staff', limitNanos: 1n });
  const args = [...nodeFlags, join(outDir, 'host.mjs'), JSON.stringify({ ...rest, secret })];
  const command: readonly [string, readonly string[]] =
    files === undefined
      ? [process.execPath, args]
      : ['bash', ['-c', `ulimit -n ${files}; exec "$@"`, 'bash', process.execPath, ...args]];
  const child = spawn(...command, {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    serialization: 'advanced',
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const waitFor = (member: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const listen = (message: unknown): void => {
        if (typeof message === 'object' && message !== null && member in message) {
          child.off('message', listen);
          resolve(Reflect.get(message, member));
        }
      };
      child.on('message', listen);
      void exited.then(() => reject(new Error(`the host ended: ${errors}`)));
    });
  const origin = z.string().parse(await waitFor('origin'));
  return {
    child,
    origin,
    secret,
    waitFor,
    order: (order, ms = 0) => void child.send({ order, ms }),
    exited,
    errors: () => errors,
  };
}
