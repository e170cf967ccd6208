#!/usr/bin/env node
/** The program `tollgate`: connects the commands to the process. */
import { userInfo } from 'node:os';
import { systemClock } from '../clock.ts';
import { thrownCode } from '../events/thrown.ts';
import type { Surroundings } from './command.ts';
import { commands } from './commands.ts';
import { runProgram } from './program.ts';

/**
 * The signals that end a process unless it handles them, except those that Node uses itself
 * (SIGUSR1, SIGPROF) and those of a crash, after which no code can run.
 */
const posixSignals = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGALRM',
  'SIGVTALRM',
  'SIGUSR2',
  'SIGXCPU',
] as const;
const windowsSignals = ['SIGHUP', 'SIGINT', 'SIGBREAK'] as const;

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
  return thrownCode(error) ?? error.name;
}

/** In a container the user may have a number, but no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Calls a function before the process ends, perhaps more than once; it must not throw. */
function beforeEnd(clean: () => void): void {
  process.on('exit', clean);
  const signals = process.platform === 'win32' ? windowsSignals : posixSignals;
  for (const signal of signals) {
    const end = (): void => {
      // Another listener handles this signal.
      if (process.listenerCount(signal) > 1) return;
      clean();
      process.off(signal, end);
      // Without a listener the signal has its default effect, so that the parent process sees it.
      process.kill(process.pid, signal);
    };
    // First in the list: a listener that removes itself while it handles the signal must still
    // count.
    process.prependListener(signal, end);
  }
}
