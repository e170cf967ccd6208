/**
 * The process warnings, unhandled rejections and uncaught exceptions raised while a test file runs.
 * A test that expects a warning removes it; `fail-on-unhandled.ts` fails the file for each one
 * left. The listeners are added once for a process, which several files share.
 */
import { setImmediate } from 'node:timers/promises';

const raised: Error[] = [];
const unhandled: unknown[] = [];

const note = (problem: unknown): void => {
  unhandled.push(problem);
};

process
  .on('warning', (warning) => raised.push(warning))
  .on('unhandledRejection', note)
  .on('uncaughtException', note);

/** The warnings since the last call, oldest first. Waits a turn, because Node emits them late. */
export async function takeWarnings(): Promise<readonly Error[]> {
  await setImmediate();
  return raised.splice(0);
}

/** Unhandled rejections and uncaught exceptions since the last call. */
export function takeUnhandled(): readonly unknown[] {
  return unhandled.splice(0);
}
