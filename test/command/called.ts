/** Runs commands of the program in this process, in a folder of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Surroundings } from '../../src/command/command.ts';
import { commands } from '../../src/command/commands.ts';
import { runProgram } from '../../src/command/program.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { modelAt } from './serve/served.ts';

/** What a command printed, and its exit code. */
export interface Called {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A folder with a configuration, in which commands are run. */
export interface CommandFolder {
  readonly folder: string;
  call(...args: readonly string[]): Promise<Called>;
  /** The same on a terminal, which shows the progress of long tasks. */
  callOnTerminal(...args: readonly string[]): Promise<Called>;
  /** Writes `tollgate.json`, or another file. */
  write(config: object, name?: string): void;
}

/** A folder with a configuration over SQLite, which is removed after the test. */
export function commandFolder(around: Partial<Surroundings> = {}): CommandFolder {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-program-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (config: object, name = 'tollgate.json'): void =>
    writeFileSync(join(folder, name), JSON.stringify(config));
  write(sqliteConfig());
  return {
    folder,
    write,
    call: (...args) => called(folder, args, around),
    callOnTerminal: (...args) => called(folder, args, { ...around, isTerminal: true }),
  };
}

/** A configuration over SQLite, with a model whose upstream does not listen. */
export function sqliteConfig(): object {
  const models = [modelAt('http://127.0.0.1:9/v1')];
  return { catalog: { models }, stores: { sqlite: { path: './tollgate.db' } } };
}

async function called(
  folder: string,
  args: readonly string[],
  around: Partial<Surroundings>,
): Promise<Called> {
  let out = '';
  let err = '';
  const host = surroundings({
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    cwd: folder,
    ...around,
  });
  return { code: await runProgram(args, commands, host), out, err };
}

/** A process without a terminal, with the variable of the model's credential. */
export function surroundings(around: Partial<Surroundings>): Surroundings {
  return {
    out: () => {},
    isOutClosed: () => false,
    outFailure: async () => undefined,
    err: () => {},
    isTerminal: false,
    env: { KEY: 'the-account-key' },
    cwd: '.',
    clock: fakeClock(),
    user: 'operator',
    onSignal: () => () => {},
    beforeEnd: () => {},
    ...around,
  };
}
