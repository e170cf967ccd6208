/**
 * How much of a long search a test runs: a sample in `npm test` and on other Node versions, the
 * whole in `npm run test:generators`, which therefore has each file that imports this.
 */
const form = process.env.TEST_FORM ?? '';
/** Whether all runs. */
export const isWhole: boolean = ['generators', 'full'].includes(form);
/** Whether this is a run on another Node version than the oldest. */
export const isOtherVersion: boolean = ['host', 'newest'].includes(form);
/** Whether this is the run on the newest Node version. */
export const isNewest: boolean = form === 'newest';
/** One in so many runs of a property is in a sample, which a fixed seed repeats each time. */
const runShare = 10;
/** And of a list. It is a prime, so that it doesn't follow a pattern. */
const share = 5;

/** The number of runs of a property that has so many in the whole. */
export function runsOf(whole: number): number {
  return isWhole ? whole : Math.ceil(whole / runShare);
}

/** All of a list, or every fifth of it. */
export function someOf<T>(list: readonly T[]): readonly T[] {
  return isWhole ? list : list.filter((_, index) => index % share === 0);
}

/** Which third of its mounts and databases a Node line runs; the newest runs all. */
const thirds: Readonly<Record<string, number>> = { 20: 1, 22: 2, 24: 0 };

/**
 * The mounts or databases for which a test runs: each runs on the newest Node line and on one of
 * the others. Every third of the mounts includes each host.
 */
export function ofThisNode<T>(list: readonly T[]): readonly T[] {
  const third = thirds[process.versions.node.replace(/\..*/, '')];
  if (isWhole || third === undefined) return list;
  return list.filter((_, index) => index % 3 === third % list.length);
}
