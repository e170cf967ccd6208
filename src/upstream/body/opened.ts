/**
 * Wraps the body that an upstream client delivers: aborting the call breaks it off, chunks that
 * arrive while it has no reader are buffered, and the attempt's watch is notified of each chunk.
 * Only this file calls the methods of a body. The client may be a host's own, so that anything
 * wrong with it breaks the body off, and reaches neither the process nor another call.
 */
import { types } from 'node:util';
import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import { swallowErrors } from '../../events/thrown.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';
import { clientFailure, transportError } from '../transport-error.ts';
import {
  type AttemptWatch,
  bodyPaused,
  bodyResumed,
  chunkReceived,
  stopWatching,
} from '../watch-attempt.ts';
import type { DetachableBody } from './head.ts';

/** Most replies get their next reader within one turn of the event loop. */
const maxUnreadBytes = 64 * 1024;

/** Wraps a body of any client, including a host's own, which may ignore pause and abort. */
export class OpenedBody implements DetachableBody {
  readonly #body: UpstreamBody;
  readonly #watch: AttemptWatch | undefined;
  #state: 'fresh' | 'open' | 'ended' | 'given up' | Error = 'fresh';
  #sink: ByteSink | undefined;
  #unread: ChunkBuffer | undefined;
  #isPaused = false;

  constructor(body: UpstreamBody, watch: AttemptWatch | undefined) {
    this.#body = body;
    this.#watch = watch;
  }

  takeWhole(limit: number): Uint8Array | undefined {
    let whole: unknown;
    try {
      whole = this.#body.takeWhole(limit);
    } catch (error) {
      throw clientFailure('body', error);
    }
    if (whole === undefined || types.isUint8Array(whole)) return whole;
    swallowErrors(() => whole);
    throw clientFailure('body');
  }

  start(target: ByteSink): void {
    if (this.#state !== 'fresh') return this.#continueWith(target);
    this.#sink = target;
    this.#state = 'open';
    try {
      const result: unknown = this.#body.start(this.#clientSink());
      if (result !== undefined) onRejection(result, this);
    } catch (error) {
      this.#break(clientFailure('body', error));
    }
  }

  detach(): void {
    this.#sink = undefined;
    // Until somebody reads again, silence does not count against the upstream.
    if (this.#watch !== undefined) bodyPaused(this.#watch);
  }

  pause(): void {
    if (this.#watch !== undefined) bodyPaused(this.#watch);
    this.#isPaused = true;
    this.#ask('pause');
  }

  resume(): void {
    if (this.#watch !== undefined) bodyResumed(this.#watch);
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#ask('resume');
  }

  abort(): void {
    this.#finish('given up');
    swallowErrors(() => this.#body.abort());
  }

  /** Breaks the body off, unless it has ended or was aborted. */
  cut(reason: unknown): void {
    this.#break(transportError(reason, 'body'));
  }

  #isOver(): boolean {
    return this.#state !== 'open' && this.#state !== 'fresh';
  }

  #finish(ending: 'ended' | 'given up' | Error): void {
    this.#state = ending;
    if (this.#watch !== undefined) stopWatching(this.#watch);
  }

  #break(failure: Error): void {
    if (this.#isOver()) return;
    this.#finish(failure);
    swallowErrors(() => this.#body.abort());
    this.#sink?.fail(failure);
  }

  #ask(method: 'pause' | 'resume'): void {
    try {
      const result: unknown = this.#body[method]();
      if (result !== undefined) onRejection(result, this);
    } catch (error) {
      // In a later turn, because the reader asks in the middle of a write.
      setImmediate(() => this.#break(clientFailure('body', error)));
    }
  }

  /** Functions and not methods, because a host's client may pass them on one by one. */
  #clientSink(): ByteSink {
    return {
      write: (chunk) => {
        if (this.#state !== 'open') return;
        if (!types.isUint8Array(chunk)) return this.#break(clientFailure('body'));
        if (this.#sink === undefined) return this.#bufferUnread(chunk);
        if (this.#watch !== undefined) chunkReceived(this.#watch);
        this.#sink.write(chunk);
      },
      end: () => {
        if (this.#isOver()) return;
        this.#finish('ended');
        this.#sink?.end();
      },
      fail: (error) => {
        if (this.#isOver()) return;
        const failure = transportError(error, 'body');
        this.#finish(failure);
        this.#sink?.fail(failure);
      },
    };
  }

  #bufferUnread(chunk: Uint8Array): void {
    this.#unread ??= new ChunkBuffer();
    this.#unread.add(chunk);
    if (this.#isPaused || this.#unread.byteLength() <= maxUnreadBytes) return;
    this.#isPaused = true;
    this.#ask('pause');
  }

  #continueWith(target: ByteSink): void {
    this.#sink = target;
    const bytes = this.#unread?.drain();
    if (bytes !== undefined && bytes.length > 0) target.write(bytes);
    const state = this.#state;
    if (state === 'ended') target.end();
    else if (typeof state !== 'string') target.fail(state);
    else if (state === 'open') this.resume();
  }
}

/** A method of the client should return nothing. If it returned a promise, that may reject. */
function onRejection(result: unknown, body: OpenedBody): void {
  Promise.resolve(result).catch((error: unknown) => body.cut(clientFailure('body', error)));
}
