/**
 * Tracks, for a stream with several candidates, whether every candidate that has started has also
 * ended.
 */

/** The candidates of one reply. */
export interface CandidateEnds {
  /** Records an event of a candidate; `isLast` if the event ends it. */
  note(index: number, isLast: boolean): void;
  /** True if at least one candidate has ended and none is unfinished. */
  allEnded(): boolean;
}

/**
 * Starts without candidates. Events after a candidate's end, such as filter results or usage, do
 * not reopen it.
 */
export function candidateEnds(): CandidateEnds {
  const open = new Set<number>();
  const ended = new Set<number>();
  return {
    note: (index, isLast) => {
      if (isLast) {
        ended.add(index);
        open.delete(index);
      } else if (!ended.has(index)) {
        open.add(index);
      }
    },
    allEnded: () => ended.size > 0 && open.size === 0,
  };
}
