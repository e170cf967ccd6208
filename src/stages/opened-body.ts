/**
 * Wraps the body that an upstream client delivers: aborting the call breaks it off, chunks that
 * arrive while it has no reader are buffered, and the attempt's watch is notified of each chunk.
 */

import type { DetachableBody } from '../bytes/body/head.ts';
import { type ChunkBuffer, chunkBuffer } from '../bytes/chunk-buffer.ts';
import type { ByteSink, UpstreamBody } from '../ports/upstream-client.ts';
import { transportError } from '../upstream/transport-error.ts';
import { type AttemptWatch, over, paused, pieceCame, resumed } from './watch-attempt.ts';

/** A body that can be held and broken off. */
export interface OpenedBody extends DetachableBody {
  /** Breaks the body off, unless it has ended or was aborted. */
  cut(reason: Error): void;
}

/**
 * How much is buffered without a reader before the client is asked to pause. Most replies get their
 * next reader within one turn of the event loop.
 */
const unreadBytes = 64 * 1024;

/** Wraps a body of any client, including a host's own, which may ignore pause and abort. */
export function openedBody(body: UpstreamBody, attempt: AttemptWatch | undefined): OpenedBody {
  let state: 'fresh' | 'open' | 'ended' | 'given up' | Error = 'fresh';
  let sink: ByteSink | undefined;
  let unread: ChunkBuffer | undefined;
  let isPaused = false;

  const isOver = (): boolean => state !== 'open' && state !== 'fresh';

  const settle = (ending: typeof state): void => {
    state = ending;
    if (attempt !== undefined) over(attempt);
  };

  const keep = (chunk: Uint8Array): void => {
    unread ??= chunkBuffer();
    unread.add(chunk);
    if (isPaused || unread.byteLength() <= unreadBytes) return;
    isPaused = true;
    body.pause();
  };

  const fail = (error: Error): void => {
    if (isOver()) return;
    settle(error);
    sink?.fail(error);
  };

  const fromClient: ByteSink = {
    write: (chunk) => {
      if (state !== 'open') return;
      if (sink === undefined) return keep(chunk);
      if (attempt !== undefined) pieceCame(attempt);
      sink.write(chunk);
    },
    end: () => {
      if (isOver()) return;
      settle('ended');
      sink?.end();
    },
    fail,
  };

  /** Continues with the next reader, where the previous one stopped. */
  const goOn = (target: ByteSink): void => {
    sink = target;
    const bytes = unread?.drain();
    if (bytes !== undefined && bytes.length > 0) target.write(bytes);
    if (state === 'ended') target.end();
    else if (state instanceof Error) target.fail(state);
    else if (state === 'open') resume();
  };

  const resume = (): void => {
    if (attempt !== undefined) resumed(attempt);
    if (!isPaused) return;
    isPaused = false;
    body.resume();
  };

  return {
    takeWhole: (limit) => body.takeWhole(limit),
    start: (target) => {
      if (state !== 'fresh') return goOn(target);
      sink = target;
      state = 'open';
      body.start(fromClient);
    },
    detach: () => {
      sink = undefined;
      // Until somebody reads again, silence does not count against the upstream.
      if (attempt !== undefined) paused(attempt);
    },
    pause: () => {
      if (attempt !== undefined) paused(attempt);
      isPaused = true;
      body.pause();
    },
    resume,
    abort: () => {
      settle('given up');
      body.abort();
    },
    cut: (reason) => {
      if (isOver()) return;
      const failure = transportError(reason, 'body');
      settle(failure);
      body.abort();
      sink?.fail(failure);
    },
  };
}
