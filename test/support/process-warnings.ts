/**
 * The process warnings raised while a test file runs. A test that expects one takes it;
 * `fail-on-unhandled.ts` fails the file for each one that is left.
 */
import { setImmediate } from 'node:timers/promises';

const raised: Error[] = [];

process.on('warning', (warning) => raised.push(warning));

/** The warnings since the last call, oldest first. Waits a turn, for Node emits them late. */
export async function takeWarnings(): Promise<readonly Error[]> {
  await setImmediate();
  return raised.splice(0);
}
