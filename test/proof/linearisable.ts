/**
 * Whether a recorded history could have come from a store that does one thing at a time: the search
 * of Wing and Gong, with Lowe's memory of what has been tried, as in Porcupine.
 */
import { comparable, type Operation } from './operations.ts';
import { apply, type Books, scribe } from './quota-model.ts';

/** One operation of one client. Times are of any clock that all clients share. */
export interface Invocation {
  readonly client: number;
  readonly operation: Operation;
  readonly invokedAt: number;
  /** None where no answer came: it may have happened at any time since, or never. */
  readonly returned: { readonly at: number; readonly answer: unknown } | undefined;
}

/** What the search has found. */
export interface Verdict {
  readonly isLinearisable: boolean;
  /** How many of the answered operations the best order explains. */
  readonly explained: number;
  /** Where it got no further: the operations of which one had to come next. */
  readonly stuckAt: readonly Invocation[];
}

/**
 * Looks for an order of all operations that keeps to real time and in which the model gives every
 * answer that was given. Times in answers aren't compared, and no lease may end in a history.
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

  // Depth first, by hand: a history is longer than a call stack should be deep.
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
    if (isAnswered && comparable(answer, false) !== next.expected) continue;
    const done = place.done | next.bit;
    const text = write(books);
    // To leave out what nobody saw and what changed nothing is the same, and less to search.
    if (!isAnswered && text === place.text) continue;
    const key = `${done.toString(36)} ${text}`;
    if (tried.has(key)) continue;
    tried.add(key);
    const explained = place.explained + (isAnswered ? 1 : 0);
    path.push(placeAt(steps, { books, text, done, explained }));
  }
  return verdictOf(best, false);
}

interface Step {
  readonly invocation: Invocation;
  readonly returnedAt: number;
  /** The answer as text; undefined where any will do. */
  readonly expected: string | undefined;
  readonly bit: bigint;
}

/** What has happened on the way to a point of the search. */
interface Standing {
  readonly books: Books;
  /** The books in words. */
  readonly text: string;
  readonly done: bigint;
  readonly explained: number;
}

/** A point of the search: what has happened, and what may come next. */
interface Place extends Standing {
  /** Not tried yet, the likeliest last. */
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

/** What was invoked before the first of the others had returned may come next. */
function placeAt(steps: readonly Step[], standing: Standing): Place {
  const candidates: Step[] = [];
  let firstReturn = Number.POSITIVE_INFINITY;
  for (const step of steps) {
    if (step.invocation.invokedAt > firstReturn) break;
    if ((standing.done & step.bit) !== 0n) continue;
    candidates.push(step);
    firstReturn = Math.min(firstReturn, step.returnedAt);
  }
  // An operation without an answer is tried last: most histories need none of them to happen.
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
