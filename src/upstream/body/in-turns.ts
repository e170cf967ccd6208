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
export class BodyInTurns implements DetachableBody {
  readonly #body: DetachableBody;
  #sink: ByteSink | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  #isPaused = false;
  #hasPausedClient = false;
  #hasEnded = false;

  constructor(body: DetachableBody) {
    this.#body = body;
  }

  takeWhole(limit: number): Uint8Array | undefined {
    return this.#body.takeWhole(Math.min(limit, turnBytes));
  }

  start(target: ByteSink): void {
    this.#sink = target;
    // Starting the body resumes it.
    this.#isPaused = false;
    this.#hasPausedClient = false;
    this.#body.start({
      write: (chunk) => this.#gather(chunk),
      end: () => {
        this.#hasEnded = true;
        this.#schedule();
      },
      fail: (error) => {
        const to = this.#sink;
        this.#drop();
        to?.fail(error);
      },
    });
    this.#schedule();
  }

  detach(): void {
    this.#sink = undefined;
    this.#body.detach();
  }

  pause(): void {
    this.#isPaused = true;
    this.#hasPausedClient = true;
    this.#body.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#schedule();
  }

  abort(): void {
    this.#drop();
    this.#body.abort();
  }

  #gather(chunk: Uint8Array): void {
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#schedule();
    if (this.#waitingBytes <= maxWaitingBytes || this.#hasPausedClient) return;
    this.#hasPausedClient = true;
    this.#body.pause();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#work());
  }

  #work(): void {
    this.#isScheduled = false;
    this.#deliver();
    const to = this.#reader();
    if (to === undefined) return;
    if (this.#waiting.length > 0) return this.#schedule();
    if (this.#hasEnded) {
      this.#sink = undefined;
      return to.end();
    }
    if (!this.#hasPausedClient) return;
    this.#hasPausedClient = false;
    this.#body.resume();
  }

  /** Delivers the pieces of one turn, until the reader pauses or leaves. */
  #deliver(): void {
    for (let left = turnBytes; left > 0; ) {
      const to = this.#reader();
      const chunk = to === undefined ? undefined : this.#waiting.shift();
      if (to === undefined || chunk === undefined) return;
      const piece = chunk.subarray(0, left);
      if (piece.length < chunk.length) this.#waiting.unshift(chunk.subarray(piece.length));
      left -= piece.length;
      this.#waitingBytes -= piece.length;
      to.write(piece);
    }
  }

  #reader(): ByteSink | undefined {
    return this.#isPaused ? undefined : this.#sink;
  }

  #drop(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#sink = undefined;
  }
}
