/** Tells of a stream of several candidates whether every one that has begun has also ended. */

/** The candidates of one reply. */
export interface CandidateEnds {
  /** An event of this candidate; whether it is its last. */
  note(index: number, isLast: boolean): void;
  /** At least one has ended, and none is half done. */
  allEnded(): boolean;
}

/** None yet. What comes behind a candidate's end, filter results or figures, begins nothing. */
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
