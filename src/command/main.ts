#!/usr/bin/env node
/** The program `tollgate`: connects the commands to the process, which is theirs alone. */
import { userInfo } from 'node:os';
import { systemClock } from '../clock.ts';
import { commands } from './commands.ts';
import { runProgram } from './program.ts';

// A reader such as `head` may have read enough, or a disk may be full: the program reports it.
process.stderr.on('error', () => {});

const failures: string[] = [];
process.stdout.on('error', (error) => failures.push(codeOf(error)));

process.exitCode = await runProgram(process.argv.slice(2), commands, {
  out: (text) => void process.stdout.write(text),
  isOutClosed: () => process.stdout.destroyed || process.stdout.errored !== null,
  outFailure: () =>
    new Promise((resolve) => {
      process.stdout.write('', (error) => resolve(failures[0] ?? (error && codeOf(error))));
    }),
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
});

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
