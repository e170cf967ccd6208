/**
 * Checks whether a recorded history is linearisable: the search of Wing and Gong, with Lowe's cache
 * of visited states, as in Porcupine.
 */
import { comparable, type Operation, withoutBalances } from './operations.ts';
import { apply, type Books, scribe } from './quota-model.ts';

/** One operation of one client. Times are of any clock that all clients share. */
export interface Invocation {
  readonly client: number;
  readonly operation: Operation;
  readonly invokedAt: number;
  /** Undefined if no reply arrived: the operation may have run at any later time, or never. */
  readonly returned: { readonly at: number; readonly answer: unknown } | undefined;
}

/** The result of the search. */
export interface Verdict {
  readonly isLinearisable: boolean;
  /** How many of the operations with a reply the best order explains. */
  readonly explained: number;
  /** Where the best order ends: the operations of which one had to be next. */
  readonly stuckAt: readonly Invocation[];
}

/**
 * Searches for an order of all operations that respects real time and in which the model returns
 * the recorded results. Times in results are not compared, and no lease may end in a history.
 */
export function judge(history: readonly Invocation[], start: Books): Verdict {
  const steps = [...history].sort((a, b) => a.invokedAt - b.invokedAt).map(stepOf);
  const answered = steps.filter(({ expected }) => expected !== undefined).length;
  const tried = new Set<string>();
  const write = scribe();
  const path: Place[] = [
    placeAt(steps, { books: start, text: write(start), done: 0n, explained: 0 }),
  ];
  let best = path[0];

  // Depth first without recursion, because a history is longer than the call stack allows.
  for (let place = path.at(-1); place !== undefined; place = path.at(-1)) {
    if (place.explained === answered) return verdictOf(place, true);
    if (best === undefined || place.explained > best.explained) best = place;
    const next = place.open.pop();
    if (next === undefined) {
      path.pop();
      continue;
    }
    const { books, answer } = apply(place.books, next.invocation.operation, 0);
    const isAnswered = next.expected !== undefined;
    const own = comparable(asStated(answer, next.invocation), false);
    if (isAnswered && own !== next.expected) continue;
    const done = place.done | next.bit;
    const text = write(books);
    // An operation without a reply that changes nothing can be left out, which reduces the search.
    if (!isAnswered && text === place.text) continue;
    const key = `${done.toString(36)} ${text}`;
    if (tried.has(key)) continue;
    tried.add(key);
    const explained = place.explained + (isAnswered ? 1 : 0);
    path.push(placeAt(steps, { books, text, done, explained }));
  }
  return verdictOf(best, false);
}

/** The model's answer, without balances if the store stated none, as older versions do. */
function asStated(answer: unknown, { returned }: Invocation): unknown {
  return Object.hasOwn(Object(returned?.answer), 'balances') ? answer : withoutBalances(answer);
}

interface Step {
  readonly invocation: Invocation;
  readonly returnedAt: number;
  /** The result as text; undefined if any result is correct. */
  readonly expected: string | undefined;
  readonly bit: bigint;
}

/** The operations before one node of the search. */
interface Standing {
  readonly books: Books;
  /** The state of the model as text. */
  readonly text: string;
  readonly done: bigint;
  readonly explained: number;
}

/** A node of the search: the operations so far, and those that may be next. */
interface Place extends Standing {
  /** Not tried yet, in ascending order of likelihood. */
  readonly open: Step[];
  readonly candidates: readonly Step[];
}

function stepOf(invocation: Invocation, index: number): Step {
  const { returned } = invocation;
  return {
    invocation,
    returnedAt: returned?.at ?? Number.POSITIVE_INFINITY,
    expected: returned === undefined ? undefined : comparable(returned.answer, false),
    bit: 1n << BigInt(index),
  };
}

/** The operations that were invoked before any other one had returned may be next. */
function placeAt(steps: readonly Step[], standing: Standing): Place {
  const candidates: Step[] = [];
  let firstReturn = Number.POSITIVE_INFINITY;
  for (const step of steps) {
    if (step.invocation.invokedAt > firstReturn) break;
    if ((standing.done & step.bit) !== 0n) continue;
    candidates.push(step);
    firstReturn = Math.min(firstReturn, step.returnedAt);
  }
  // Operations without a reply are tried last, because most histories are explained without them.
  const open = [...candidates].sort((a, b) => b.returnedAt - a.returnedAt);
  return { ...standing, open, candidates };
}

function verdictOf(place: Place | undefined, isLinearisable: boolean): Verdict {
  return {
    isLinearisable,
    explained: place?.explained ?? 0,
    stuckAt: isLinearisable ? [] : (place?.candidates ?? []).map(({ invocation }) => invocation),
  };
}
