/**
 * Wraps the body that an upstream client delivers: aborting the call breaks it off, chunks that
 * arrive while it has no reader are buffered, and the attempt's watch is notified of each chunk.
 */
import { type ChunkBuffer, chunkBuffer } from '../../bytes/chunk-buffer.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';
import { transportError } from '../transport-error.ts';
import {
  type AttemptWatch,
  bodyPaused,
  bodyResumed,
  chunkReceived,
  stopWatching,
} from '../watch-attempt.ts';
import type { DetachableBody } from './head.ts';

/** A body that can be held and broken off. */
export interface OpenedBody extends DetachableBody {
  /** Breaks the body off, unless it has ended or was aborted. */
  cut(reason: Error): void;
}

/**
 * How much is buffered without a reader before the client is asked to pause. Most replies get their
 * next reader within one turn of the event loop.
 */
const maxUnreadBytes = 64 * 1024;

/** Wraps a body of any client, including a host's own, which may ignore pause and abort. */
export function openedBody(body: UpstreamBody, watch: AttemptWatch | undefined): OpenedBody {
  let state: 'fresh' | 'open' | 'ended' | 'given up' | Error = 'fresh';
  let sink: ByteSink | undefined;
  let unread: ChunkBuffer | undefined;
  let isPaused = false;

  const isOver = (): boolean => state !== 'open' && state !== 'fresh';

  const finish = (ending: typeof state): void => {
    state = ending;
    if (watch !== undefined) stopWatching(watch);
  };

  const bufferUnread = (chunk: Uint8Array): void => {
    unread ??= chunkBuffer();
    unread.add(chunk);
    if (isPaused || unread.byteLength() <= maxUnreadBytes) return;
    isPaused = true;
    body.pause();
  };

  const fail = (error: Error): void => {
    if (isOver()) return;
    finish(error);
    sink?.fail(error);
  };

  const clientSink: ByteSink = {
    write: (chunk) => {
      if (state !== 'open') return;
      if (sink === undefined) return bufferUnread(chunk);
      if (watch !== undefined) chunkReceived(watch);
      sink.write(chunk);
    },
    end: () => {
      if (isOver()) return;
      finish('ended');
      sink?.end();
    },
    fail,
  };

  /** Continues with the next reader, where the previous one stopped. */
  const continueWith = (target: ByteSink): void => {
    sink = target;
    const bytes = unread?.drain();
    if (bytes !== undefined && bytes.length > 0) target.write(bytes);
    if (state === 'ended') target.end();
    else if (typeof state !== 'string') target.fail(state);
    else if (state === 'open') resume();
  };

  const resume = (): void => {
    if (watch !== undefined) bodyResumed(watch);
    if (!isPaused) return;
    isPaused = false;
    body.resume();
  };

  return {
    takeWhole: (limit) => body.takeWhole(limit),
    start: (target) => {
      if (state !== 'fresh') return continueWith(target);
      sink = target;
      state = 'open';
      body.start(clientSink);
    },
    detach: () => {
      sink = undefined;
      // Until somebody reads again, silence does not count against the upstream.
      if (watch !== undefined) bodyPaused(watch);
    },
    pause: () => {
      if (watch !== undefined) bodyPaused(watch);
      isPaused = true;
      body.pause();
    },
    resume,
    abort: () => {
      finish('given up');
      body.abort();
    },
    cut: (reason) => {
      if (isOver()) return;
      const failure = transportError(reason, 'body');
      finish(failure);
      body.abort();
      sink?.fail(failure);
    },
  };
}
