/**
 * Sends the operations of calls in batches. The transactions of one subject run one after another,
 * and each waits for the disk, so operations that share a subject go together into one.
 */
// Imported, because a host's tests may replace the global timers with fakes.
import { setImmediate } from 'node:timers';
import { errorName } from '../../errors.ts';
import { items, type JsonValue } from '../../json.ts';
import {
  type CallOptions,
  isStoreUnavailable,
  StoreCorrupt,
  StoreUnavailable,
} from '../../ports/call-options.ts';
import { withDeadline } from './client.ts';

/** An operation in the form that `quota_batch` takes. */
export interface BatchedOperation {
  readonly op: 'reserve' | 'extend' | 'settle' | 'release';
  readonly id: string;
  readonly ttlMs?: number;
  readonly lines?: readonly object[];
}

/** Runs operations of one partition in one transaction; their answers have the same order. */
export type SendBatch = (
  partition: string,
  operations: readonly BatchedOperation[],
) => Promise<JsonValue | undefined>;

/** The most operations of a batch, whose subjects are locked until it has been committed. */
const maxBatch = 64;

/** An operation whose caller waits for its answer. */
interface Member {
  readonly operation: BatchedOperation;
  resolve: (answer: JsonValue) => void;
  reject: (error: unknown) => void;
  /** How often it was sent, not counting attempts that certainly did nothing. */
  sent: number;
  isWaiting: boolean;
  /** Lets the next batch go although this one is not answered; undefined before it was sent. */
  overtake: (() => void) | undefined;
}

/** Operations that share subjects. One batch of them runs at a time. */
interface Queue {
  readonly partition: string;
  readonly waiting: Set<Member>;
  isBusy: boolean;
}

/** The queue of a subject, and how many operations on the subject wait for their answers. */
interface BusySubject {
  readonly queue: Queue;
  count: number;
}

export class QuotaBatches {
  readonly #send: SendBatch;
  readonly #busy = new Map<string, BusySubject>();

  constructor(send: SendBatch) {
    this.#send = send;
  }

  /**
   * The answer to an operation. It joins a queue of one of its subjects, if there is one.
   *
   * @throws StoreUnavailable: `not_done` at a deadline before it was sent, and then it never is;
   *   StoreCorrupt; RangeError where the database refused the input
   */
  async run(
    operation: BatchedOperation,
    { partition, subjects }: { readonly partition: string; readonly subjects: readonly string[] },
    options: CallOptions,
  ): Promise<JsonValue> {
    if (options.signal?.aborted === true) {
      throw new StoreUnavailable('the call was aborted', { outcome: 'not_done' });
    }
    const names = subjects.map((subject) => `${partition} ${subject}`);
    const queue = this.#enter(partition, names);
    const { member, answer } = newMember(operation);
    queue.waiting.add(member);
    this.#sendNext(queue);
    try {
      return await withDeadline(answer, options);
    } catch (error) {
      // The error of the last attempt does not say whether an earlier one was done.
      throw withOutcome(error, member.sent === 0 ? 'not_done' : 'unknown');
    } finally {
      if (member.isWaiting) giveUp(member, queue);
      this.#leave(names);
    }
  }

  #enter(partition: string, names: readonly string[]): Queue {
    let queue: Queue | undefined;
    for (const name of names) queue ??= this.#busy.get(name)?.queue;
    queue ??= { partition, waiting: new Set(), isBusy: false };
    for (const name of names) {
      const subject = this.#busy.get(name);
      if (subject === undefined) this.#busy.set(name, { queue, count: 1 });
      else subject.count += 1;
    }
    return queue;
  }

  #leave(names: readonly string[]): void {
    for (const name of names) {
      const subject = this.#busy.get(name);
      if (subject === undefined) continue;
      subject.count -= 1;
      if (subject.count === 0) this.#busy.delete(name);
    }
  }

  /** Sends what waits at the end of this turn of the event loop, unless a batch is running. */
  #sendNext(queue: Queue): void {
    if (queue.isBusy || queue.waiting.size === 0) return;
    queue.isBusy = true;
    setImmediate(() => {
      const members = takeBatch(queue);
      let isOver = false;
      const next = (): void => {
        if (isOver) return;
        isOver = true;
        queue.isBusy = false;
        this.#sendNext(queue);
      };
      for (const member of members) member.overtake = next;
      void this.#deliver(queue.partition, members).then(next);
    });
  }

  /**
   * Never rejects. A batch that failed is sent once more, and then each operation alone, so that
   * one that the database refuses does not fail the others. Their ids make that safe.
   */
  async #deliver(partition: string, members: readonly Member[]): Promise<void> {
    let failure = await this.#attempt(partition, members);
    if (failure !== undefined && members.length > 1) {
      failure = await this.#attempt(partition, members.filter(isWaiting));
    }
    if (failure === undefined) return;
    for (const member of members) {
      if (members.length > 1) failure = await this.#attempt(partition, [member].filter(isWaiting));
      if (failure !== undefined) member.reject(failure.error);
    }
  }

  async #attempt(
    partition: string,
    members: readonly Member[],
  ): Promise<{ readonly error: unknown } | undefined> {
    if (members.length === 0) return undefined;
    for (const member of members) member.sent += 1;
    try {
      const operations = members.map(({ operation }) => operation);
      const answers = items(await this.#send(partition, operations));
      if (answers.length !== members.length) {
        throw new StoreCorrupt('PostgreSQL returned an invalid number of answers');
      }
      for (const [index, answer] of answers.entries()) members[index]?.resolve(answer);
      return undefined;
    } catch (error) {
      if (isNotDone(error)) for (const member of members) member.sent -= 1;
      return { error };
    }
  }
}

function newMember(operation: BatchedOperation): {
  readonly member: Member;
  readonly answer: Promise<JsonValue>;
} {
  const member: Member = {
    operation,
    sent: 0,
    isWaiting: true,
    resolve: () => {},
    reject: () => {},
    overtake: undefined,
  };
  const answer = new Promise<JsonValue>((resolve, reject) => {
    member.resolve = (value) => {
      member.isWaiting = false;
      resolve(value);
    };
    member.reject = (error) => {
      member.isWaiting = false;
      reject(error);
    };
  });
  return { member, answer };
}

/** At its deadline. The connection of its batch may hang, which later calls must not wait for. */
function giveUp(member: Member, queue: Queue): void {
  member.isWaiting = false;
  queue.waiting.delete(member);
  member.overtake?.();
}

/** The first in the queue that have different ids; two operations on one hold run in order. */
function takeBatch({ waiting }: Queue): readonly Member[] {
  const batch = new Map<string, Member>();
  for (const member of waiting) {
    if (batch.size === maxBatch) break;
    if (!batch.has(member.operation.id)) batch.set(member.operation.id, member);
  }
  const members = [...batch.values()];
  for (const member of members) waiting.delete(member);
  return members;
}

function isWaiting(member: Member): boolean {
  return member.isWaiting;
}

/** A refused input changes nothing. */
function isNotDone(error: unknown): boolean {
  if (isStoreUnavailable(error)) return error.outcome === 'not_done';
  return errorName(error) === 'RangeError';
}

/** The same failure with this outcome; other errors stay as they are. */
export function withOutcome(error: unknown, outcome: StoreUnavailable['outcome']): unknown {
  if (!isStoreUnavailable(error) || error.outcome === outcome) return error;
  const { message, code, cause } = error;
  return new StoreUnavailable(message, { outcome, code, cause });
}
