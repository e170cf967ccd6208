/**
 * Delivers the notifications of one endpoint, one at a time, and tries again what may succeed
 * later. The queue is in memory: what waits is lost when the process ends.
 */
import type { Clock } from '../clock.ts';
import type { EventOf } from '../events/events.ts';
import type { NotificationFailure } from '../events/notification-types.ts';
import type { AttemptResult } from './attempt.ts';
import { importance, type Message } from './messages.ts';

interface QueueDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly attempt: (message: Message) => Promise<AttemptResult>;
  readonly report: (failure: Omit<EventOf<'notification_failed'>, 'type' | 'endpoint'>) => void;
}

interface Entry {
  readonly message: Message;
  readonly addedMs: number;
  dueMs: number;
  attempts: number;
  status: number | undefined;
  isOver: boolean;
}

const maxWaiting = 1_000;
/** Ids that were queued before are not queued again. */
const maxKnownIds = 10_000;
const firstWaitMs = 5_000;
const growth = 4;
const maxWaitMs = 900_000;
/** Also of a wait that the endpoint requests. */
const maxRequestedWaitMs = 3_600_000;
const maxAgeMs = 6 * 3_600_000;
const closeMs = 5_000;

export class DeliveryQueue {
  readonly #deps: QueueDeps;
  /** In the order of their arrival; without the one that is being sent. */
  #waiting: Entry[] = [];
  #sending: Entry | undefined;
  readonly #knownIds = new Set<string>();
  /** Failed attempts since the last that succeeded. */
  #failures = 0;
  #pausedUntilMs = 0;
  #isGone = false;
  #closing: { readonly finish: () => void; readonly done: Promise<void> } | undefined;
  #isClosed = false;
  #stopTimer: (() => void) | undefined;

  constructor(deps: QueueDeps) {
    this.#deps = deps;
  }

  add(message: Message): void {
    if (this.#isGone || this.#knownIds.has(message.id)) return;
    this.#knownIds.add(message.id);
    const [oldest] = this.#knownIds;
    if (this.#knownIds.size > maxKnownIds && oldest !== undefined) this.#knownIds.delete(oldest);
    const nowMs = this.#deps.clock.monotonicMs();
    const counts = { attempts: 0, status: undefined, isOver: false };
    const entry: Entry = { message, addedMs: nowMs, dueMs: nowMs, ...counts };
    if (this.#isClosed) return this.#giveUp(entry, 'closed');
    this.#waiting.push(entry);
    if (this.#waiting.length > maxWaiting) this.#dropOne();
    this.#sendNext();
  }

  /** Tries everything that waits once more, for at most 5 s in all. Never rejects. */
  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done;
    let finish = (): void => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const stop = this.#deps.clock.every(closeMs, () => this.#end());
    void done.then(stop);
    this.#closing = { finish, done };
    this.#pausedUntilMs = 0;
    for (const entry of this.#waiting) entry.dueMs = 0;
    this.#sendNext();
    return done;
  }

  /** The oldest of the least important. */
  #dropOne(): void {
    const lowest = Math.min(...this.#waiting.map(({ message }) => importance[message.type]));
    const at = this.#waiting.findIndex(({ message }) => importance[message.type] === lowest);
    for (const entry of this.#waiting.splice(at, 1)) this.#giveUp(entry, 'queue_full');
  }

  #sendNext(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#sending !== undefined || this.#isClosed) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const isDue = ({ dueMs }: Entry): boolean => Math.max(dueMs, this.#pausedUntilMs) <= nowMs;
    const at = this.#waiting.findIndex(isDue);
    const [entry] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (entry !== undefined) void this.#send(entry);
    else if (this.#closing !== undefined) this.#end();
    else this.#waitForNext(nowMs);
  }

  #waitForNext(nowMs: number): void {
    if (this.#waiting.length === 0) return;
    const firstMs = Math.min(...this.#waiting.map(({ dueMs }) => dueMs));
    const waitMs = Math.max(1, Math.ceil(Math.max(firstMs, this.#pausedUntilMs) - nowMs));
    this.#stopTimer = this.#deps.clock.every(waitMs, () => this.#sendNext());
  }

  async #send(entry: Entry): Promise<void> {
    this.#sending = entry;
    entry.attempts += 1;
    const result = await this.#deps.attempt(entry.message);
    this.#sending = undefined;
    // It was given up meanwhile, because the gateway is closed.
    if (entry.isOver) return;
    this.#take(entry, result);
    this.#sendNext();
  }

  #take(entry: Entry, result: AttemptResult): void {
    if (result.kind === 'delivered') {
      this.#failures = 0;
      return;
    }
    entry.status = result.status ?? entry.status;
    if (result.kind === 'retry') return this.#tryAgain(entry, result);
    this.#giveUp(entry, result.reason);
    if (result.reason !== 'gone') return;
    this.#isGone = true;
    this.#giveUpAll('gone');
  }

  #tryAgain(entry: Entry, { reason, retryAfterMs = 0 }: AttemptResult & { kind: 'retry' }): void {
    if (this.#closing !== undefined) return this.#giveUp(entry, 'closed');
    this.#failures += 1;
    const nowMs = this.#deps.clock.monotonicMs();
    const requestedMs = Math.min(retryAfterMs, maxRequestedWaitMs);
    const wait = (times: number): number => Math.max(this.#backoffMs(times), requestedMs);
    entry.dueMs = nowMs + wait(entry.attempts);
    if (entry.dueMs - entry.addedMs > maxAgeMs) return this.#giveUp(entry, reason);
    // The others wait too: it is the endpoint that fails. After a success each waits for itself.
    this.#pausedUntilMs = nowMs + wait(this.#failures);
    this.#waiting.push(entry);
    if (this.#waiting.length > maxWaiting) this.#dropOne();
  }

  /** Half of it is random, so that replicas do not come back at the same moment. */
  #backoffMs(times: number): number {
    const fullMs = Math.min(firstWaitMs * growth ** (times - 1), maxWaitMs);
    return fullMs * (0.5 + 0.5 * this.#deps.random());
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#giveUpAll('closed');
    if (this.#sending !== undefined) this.#giveUp(this.#sending, 'closed');
    this.#closing?.finish();
  }

  #giveUpAll(reason: NotificationFailure): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const entry of waiting) this.#giveUp(entry, reason);
  }

  #giveUp(entry: Entry, reason: NotificationFailure): void {
    entry.isOver = true;
    const { message, status, attempts } = entry;
    const { type: notification, id } = message;
    this.#deps.report({ notification, id, reason, status, attempts });
  }
}
