/**
 * Delivers a body in bounded amounts, one in each turn of the event loop, for readers that work on
 * each byte. A client may deliver megabytes at once.
 */
// Imported, because a host's tests may replace the global timers with fakes.
import { setImmediate } from 'node:timers';
import type { ByteSink } from '../../ports/upstream-client.ts';
import type { DetachableBody } from './head.ts';

/** What is read in one turn: some milliseconds of work. */
export const turnBytes: number = 256 * 1024;
/** Above this the client is asked to pause. */
const maxWaitingBytes = 1024 * 1024;

/** Wraps a body that nobody has begun to read. */
export function bodyInTurns(body: DetachableBody): DetachableBody {
  let sink: ByteSink | undefined;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let isScheduled = false;
  let isPaused = false;
  let hasPausedClient = false;
  let hasEnded = false;

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(work);
  };
  const reader = (): ByteSink | undefined => (isPaused ? undefined : sink);
  const deliver = (): void => {
    for (let left = turnBytes; left > 0; ) {
      const to = reader();
      const chunk = to === undefined ? undefined : waiting.shift();
      if (to === undefined || chunk === undefined) return;
      const piece = chunk.subarray(0, left);
      if (piece.length < chunk.length) waiting.unshift(chunk.subarray(piece.length));
      left -= piece.length;
      waitingBytes -= piece.length;
      to.write(piece);
    }
  };
  const work = (): void => {
    isScheduled = false;
    deliver();
    const to = reader();
    if (to === undefined) return;
    if (waiting.length > 0) return schedule();
    if (hasEnded) {
      sink = undefined;
      return to.end();
    }
    if (!hasPausedClient) return;
    hasPausedClient = false;
    body.resume();
  };
  const drop = (): void => {
    waiting = [];
    waitingBytes = 0;
    sink = undefined;
  };
  const gathering: ByteSink = {
    write: (chunk) => {
      waiting.push(chunk);
      waitingBytes += chunk.length;
      schedule();
      if (waitingBytes <= maxWaitingBytes || hasPausedClient) return;
      hasPausedClient = true;
      body.pause();
    },
    end: () => {
      hasEnded = true;
      schedule();
    },
    fail: (error) => {
      const to = sink;
      drop();
      to?.fail(error);
    },
  };

  return {
    takeWhole: (limit) => body.takeWhole(Math.min(limit, turnBytes)),
    start: (target) => {
      sink = target;
      // Starting the body resumes it.
      isPaused = false;
      hasPausedClient = false;
      body.start(gathering);
      schedule();
    },
    detach: () => {
      sink = undefined;
      body.detach();
    },
    pause: () => {
      isPaused = true;
      hasPausedClient = true;
      body.pause();
    },
    resume: () => {
      isPaused = false;
      schedule();
    },
    abort: () => {
      drop();
      body.abort();
    },
  };
}
