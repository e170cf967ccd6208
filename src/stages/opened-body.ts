/**
 * The one layer between the body that a client pushes and its readers: what ends a call ends its
 * body, what comes while nobody reads is kept, and the watch hears of every piece.
 */

import type { DetachableBody } from '../bytes/body/head.ts';
import { type ChunkBuffer, chunkBuffer } from '../bytes/chunk-buffer.ts';
import type { ByteSink, UpstreamBody } from '../ports/upstream-client.ts';
import { transportError } from '../upstream/transport-error.ts';
import { type AttemptWatch, over, paused, pieceCame, resumed } from './watch-attempt.ts';

/** A body that can be held, and cut. */
export interface OpenedBody extends DetachableBody {
  /** Breaks the body off, unless it has come to its end or has been given up. */
  cut(reason: Error): void;
}

/** What may come unread before the client is asked to pause: most replies go on within a tick. */
const unreadBytes = 64 * 1024;

/** The body as it came from a client: of a host's own, too, which may not listen. */
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

  /** Goes on behind the reader before. */
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
      // Its silence is no fault of the upstream until somebody reads again.
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
