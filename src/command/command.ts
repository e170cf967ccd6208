/**
 * What the commands of `npx tollgate` share: their form, the process around them, their errors, and
 * the values of options that several of them have.
 */
import { utcTime } from '../admin/keys/texts.ts';
import type { Clock } from '../clock.ts';
import { money } from '../prices/amount.ts';
import type { Environment } from './config/environment.ts';

/** The process around a command, replaceable in tests. */
export interface Surroundings {
  readonly out: (text: string) => void;
  /** Whether the reader of standard output is gone, as after `| head`. */
  readonly isOutClosed: () => boolean;
  /** Waits until the output is written; returns the code of the failure if it was not. */
  readonly outFailure: () => Promise<string | undefined>;
  readonly err: (text: string) => void;
  /** Whether standard error is a terminal, which shows progress. */
  readonly isTerminal: boolean;
  readonly env: Environment;
  readonly cwd: string;
  readonly clock: Clock;
  /** Who runs the command, for the audit trail. */
  readonly user: string;
  /** Calls the listener whenever the signal arrives, until the returned function is called. */
  readonly onSignal: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void) => () => void;
  /** Calls a function before the process ends, also when a signal ends it at once. */
  readonly beforeEnd: (clean: () => void) => void;
}

/** Resolves at the first signal that asks the process to end. The next one ends it at once. */
export function endSignal({ onSignal }: Surroundings): Promise<string> {
  return new Promise((resolve) => {
    const stops = (['SIGTERM', 'SIGINT'] as const).map((signal) =>
      onSignal(signal, () => {
        for (const stop of stops) stop();
        resolve(signal);
      }),
    );
  });
}

export interface Option {
  /** The placeholder of the value in the help: `FILE`; a flag has none. */
  readonly value?: string;
  /** It may be given several times. */
  readonly isList?: true;
  readonly text: string;
}

export interface Given {
  readonly around: Surroundings;
  /** Prints one JSON document on standard output in place of text. */
  readonly json: boolean;
  readonly positionals: readonly string[];
  text(name: string): string | undefined;
  /** All values of an option that may be given several times. */
  all(name: string): readonly string[];
  has(name: string): boolean;
}

export interface Command {
  /** `serve`, or two words: `keys issue`. */
  readonly name: string;
  readonly summary: string;
  /** The placeholders of its arguments in the help: `KEY_ID AMOUNT`. */
  readonly positionals?: string;
  readonly options: Readonly<Record<string, Option>>;
  readonly about: string;
  readonly examples: readonly string[];
  /** It keeps running when its output can't be written, because it serves callers. */
  readonly outlivesOutput?: true;
  /** Its output has a secret that nobody can read again. */
  readonly printsSecret?: true;
  /** Runs it and returns its exit code. */
  run(given: Given): Promise<number>;
}

/** What the exit codes mean: docs/command.md. */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(exitCodes.usage, message);
}

export const configOption: Option = {
  value: 'FILE',
  text: 'the configuration file; default: tollgate.json in the current folder',
};

/** The options of every command. */
export const commonOptions: Readonly<Record<string, Option>> = {
  json: { text: 'print one JSON document in place of text' },
  help: { text: 'explain the command' },
};

/**
 * The time that an option names, in Unix ms; undefined if it was not given.
 *
 * @throws CommandError if it is not a date, is not in UTC, or is a day that the month does not have
 */
export function dateOf(given: Given, option: string): number | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  const time = utcTime(text);
  if (typeof time === 'string') throw usageError(`--${option} ${time}`);
  return time;
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration in ms, written as `30m`, `24h` or `7d`; undefined for any other text. */
export function durationOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const known = (['s', 'm', 'h', 'd'] as const).find((name) => name === unit);
  return known === undefined ? undefined : Number(count) * unitMs[known];
}

export function amountOf(text: string): bigint {
  try {
    return money(text);
  } catch {
    throw usageError(`"${text}" must be an amount such as 5 or 0.50, up to 9007199.`);
  }
}
