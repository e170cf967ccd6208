#!/usr/bin/env node
/** The program `tollgate`: connects the commands to the process. */
import { userInfo } from 'node:os';
import { systemClock } from '../clock.ts';
import { beforeEnd } from './before-end.ts';
import type { Surroundings } from './command.ts';
import { commands } from './commands.ts';
import { runProgram } from './program.ts';

process.stderr.on('error', () => {});

process.exitCode = await runProgram(process.argv.slice(2), commands, {
  ...standardOutput(),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock(),
  user: userName(),
  onSignal: (signal, listener) => {
    process.on(signal, listener);
    return () => process.off(signal, listener);
  },
  beforeEnd,
});

/** Standard output. It may fail because `head` has read enough, or because a disk is full. */
function standardOutput(): Pick<Surroundings, 'out' | 'isOutClosed' | 'outFailure'> {
  const { stdout } = process;
  const failures: string[] = [];
  stdout.on('error', (error) => failures.push(codeOf(error)));
  return {
    out: (text) => void stdout.write(text),
    isOutClosed: () => stdout.destroyed || failures.length > 0,
    outFailure: () =>
      new Promise((resolve) => {
        stdout.write('', (error) => {
          const [first] = failures;
          resolve(error ? (first ?? codeOf(error)) : first);
        });
      }),
  };
}

function codeOf(error: Error): string {
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : error.name;
}

/** In a container the user may have a number, but no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
