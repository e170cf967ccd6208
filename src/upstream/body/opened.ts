/**
 * Wraps the body that an upstream client delivers: aborting the call breaks it off, chunks that
 * arrive while it has no reader are buffered, and the attempt's watch is notified of each chunk.
 * Only this file calls the methods of a body. The client may be a host's own, so that anything
 * wrong with it breaks the body off, and reaches neither the process nor another call.
 */
import { types } from 'node:util';
import { type ChunkBuffer, chunkBuffer } from '../../bytes/chunk-buffer.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';
import { swallowErrors } from '../../thrown.ts';
import { clientFailure, transportError } from '../transport-error.ts';
import {
  type AttemptWatch,
  bodyPaused,
  bodyResumed,
  chunkReceived,
  stopWatching,
} from '../watch-attempt.ts';
import type { DetachableBody } from './head.ts';

export interface OpenedBody extends DetachableBody {
  /** Breaks the body off, unless it has ended or was aborted. */
  cut(reason: Error): void;
}

/** Most replies get their next reader within one turn of the event loop. */
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
    ask('pause');
  };

  const cut = (failure: Error): void => {
    if (isOver()) return;
    finish(failure);
    swallowErrors(() => body.abort());
    sink?.fail(failure);
  };

  const ask = (method: 'pause' | 'resume'): void => {
    try {
      const result: unknown = body[method]();
      if (result !== undefined) onRejection(result, cut);
    } catch (error) {
      // In a later turn, because the reader asks in the middle of a write.
      setImmediate(() => cut(clientFailure('body', error)));
    }
  };

  const clientSink: ByteSink = {
    write: (chunk) => {
      if (state !== 'open') return;
      if (!types.isUint8Array(chunk)) return cut(clientFailure('body'));
      if (sink === undefined) return bufferUnread(chunk);
      if (watch !== undefined) chunkReceived(watch);
      sink.write(chunk);
    },
    end: () => {
      if (isOver()) return;
      finish('ended');
      sink?.end();
    },
    fail: (error) => {
      if (isOver()) return;
      const failure = transportError(error, 'body');
      finish(failure);
      sink?.fail(failure);
    },
  };

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
    ask('resume');
  };

  return {
    takeWhole: (limit) => {
      let whole: unknown;
      try {
        whole = body.takeWhole(limit);
      } catch (error) {
        throw clientFailure('body', error);
      }
      if (whole === undefined || types.isUint8Array(whole)) return whole;
      swallowErrors(() => whole);
      throw clientFailure('body');
    },
    start: (target) => {
      if (state !== 'fresh') return continueWith(target);
      sink = target;
      state = 'open';
      try {
        const result: unknown = body.start(clientSink);
        if (result !== undefined) onRejection(result, cut);
      } catch (error) {
        cut(clientFailure('body', error));
      }
    },
    detach: () => {
      sink = undefined;
      // Until somebody reads again, silence does not count against the upstream.
      if (watch !== undefined) bodyPaused(watch);
    },
    pause: () => {
      if (watch !== undefined) bodyPaused(watch);
      isPaused = true;
      ask('pause');
    },
    resume,
    abort: () => {
      finish('given up');
      swallowErrors(() => body.abort());
    },
    cut: (reason) => cut(transportError(reason, 'body')),
  };
}

/** A method of the client should return nothing. If it returned a promise, that may reject. */
function onRejection(result: unknown, cut: (failure: Error) => void): void {
  Promise.resolve(result).catch((error: unknown) => cut(clientFailure('body', error)));
}
