/**
 * One worker and what waits for it: at most one group is on its way, and what arrives meanwhile
 * goes together into the next one. A worker that died is started again.
 */
import type { Worker } from 'node:worker_threads';
import { thrownCode } from '../../../events/thrown.ts';
import { StoreUnavailable } from '../../../ports/call-options.ts';
import type { InputOf, OperationName, PerformOptions, ResultOf } from '../operations.ts';
import {
  type FromWorker,
  monotonicMs,
  type Requested,
  receivedError,
  type ToWorker,
} from './messages.ts';

interface Waiting {
  readonly requested: Requested;
  readonly signal: AbortSignal | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** So that one commit does not keep the first of a long queue waiting for the last. */
const maxGroup = 128;

export class DatabaseThread {
  readonly #start: () => Worker;
  /** What is known of operations that a worker had when it died. */
  readonly #outcome: 'not_done' | 'unknown';
  /** A worker that dies at its start must not be started in a loop. */
  readonly #restartMs: number;
  #worker: Worker | undefined;
  #startedMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;
  #isScheduled = false;
  #closed: Promise<void> | undefined;
  #waiting: Waiting[] = [];
  #sent: readonly Waiting[] = [];
  #lastError: unknown;
  #onChange: () => void = () => {};

  constructor(start: () => Worker, outcome: 'not_done' | 'unknown', restartMs: number) {
    this.#start = start;
    this.#outcome = outcome;
    this.#restartMs = restartMs;
  }

  /** Resolves with what the worker says of its file; rejects if it could not open it. */
  open(): Promise<{ readonly isInFile: boolean }> {
    return new Promise((resolve, reject) => {
      this.#onChange = () => {
        if (this.#worker === undefined) reject(this.#lastError);
      };
      this.#launch((message) => {
        if ('opened' in message) resolve(message.opened);
      });
    });
  }

  perform<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    { nowMs, bytes, timeoutMs, signal }: PerformOptions,
  ): Promise<ResultOf<Name>> {
    if (this.#closed !== undefined) return Promise.reject(notDone('the database is closed'));
    const deadlineMs = timeoutMs === undefined ? undefined : monotonicMs() + timeoutMs;
    return new Promise((resolve, reject) => {
      const requested: Requested<Name> = { name, input, nowMs, bytes, deadlineMs };
      this.#waiting.push({ requested, signal, resolve, reject });
      this.#worker?.ref();
      this.#schedule();
    });
  }

  /** Waits for what was requested before, and for the end of the worker. */
  close(): Promise<void> {
    this.#closed ??= this.#drained();
    return this.#closed;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = () => {
        if (this.#waiting.length > 0 || this.#sent.length > 0) return;
        if (this.#worker === undefined) resolve();
        else this.#post('close');
      };
      this.#worker?.ref();
      this.#onChange();
    });
  }

  /** What one turn of the event loop asks for goes in one message. */
  #schedule(): void {
    if (this.#isScheduled || this.#sent.length > 0) return;
    this.#isScheduled = true;
    if (this.#worker === undefined) {
      const waitMs = Math.max(0, this.#startedMs + this.#restartMs - monotonicMs());
      setTimeout(() => this.#relaunch(), waitMs);
    } else if (this.#isOpen) setImmediate(() => this.#flush());
  }

  #relaunch(): void {
    this.#launch(() => {});
  }

  #launch(onMessage: (message: FromWorker) => void): void {
    this.#startedMs = monotonicMs();
    let worker: Worker;
    try {
      worker = this.#start();
    } catch (error) {
      this.#lastError = error;
      return this.#ended();
    }
    this.#worker = worker;
    worker
      .on('message', (message: FromWorker) => {
        onMessage(message);
        this.#receive(message);
      })
      .on('error', (error) => {
        this.#lastError = error;
      })
      .on('exit', () => this.#ended());
  }

  #receive(message: FromWorker): void {
    if ('answers' in message) return this.#settle(message.answers);
    if ('failed' in message) {
      this.#lastError = receivedError(message.failed);
      return;
    }
    this.#isOpen = true;
    this.#isScheduled = false;
    this.#next();
  }

  #flush(): void {
    this.#isScheduled = false;
    const nowMs = monotonicMs();
    const group: Waiting[] = [];
    const late: Waiting[] = [];
    for (const one of this.#waiting.splice(0, maxGroup)) {
      const isLate = one.signal?.aborted === true || (one.requested.deadlineMs ?? nowMs) < nowMs;
      (isLate ? late : group).push(one);
    }
    for (const one of late) one.reject(notDone('the call ended before its turn'));
    this.#sent = group;
    if (group.length === 0) return this.#next();
    try {
      this.#post(group.map(({ requested }) => requested));
    } catch (error) {
      // A value that can't be sent to another thread.
      this.#sent = [];
      for (const one of group) one.reject(error);
      this.#next();
    }
  }

  #post(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #settle(answers: Extract<FromWorker, { readonly answers: unknown }>['answers']): void {
    const sent = this.#sent;
    this.#sent = [];
    for (const [index, { resolve, reject }] of sent.entries()) {
      const answer = answers[index];
      if (answer === undefined) reject(notDone('the worker gave no answer'));
      else if ('error' in answer) reject(receivedError(answer.error));
      else resolve(answer.value);
    }
    this.#next();
  }

  /** What waits is for the next worker, unless this one could not even open the file. */
  #ended(): void {
    const cause = this.#lastError;
    const lost = this.#sent;
    const given = this.#isOpen ? [] : this.#waiting;
    if (!this.#isOpen) this.#waiting = [];
    this.#sent = [];
    this.#worker = undefined;
    this.#isOpen = false;
    this.#isScheduled = false;
    const options = { outcome: this.#outcome, code: thrownCode(cause), cause };
    const why = options.code === undefined ? '' : `: ${options.code}`;
    for (const { reject } of lost) {
      reject(new StoreUnavailable(`the database's worker ended${why}`, options));
    }
    for (const { reject } of given) reject(notDone('the database could not be opened', cause));
    this.#next();
  }

  #next(): void {
    if (this.#waiting.length > 0) this.#schedule();
    else if (this.#sent.length === 0 && this.#closed === undefined) this.#worker?.unref();
    this.#onChange();
  }
}

function notDone(message: string, cause?: unknown): StoreUnavailable {
  return new StoreUnavailable(message, { outcome: 'not_done', cause });
}
