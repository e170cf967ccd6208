/**
 * How much of a long search a test runs: a sample in `npm test` and on other Node versions, the
 * whole in `npm run test:generators`, which therefore has each file that imports this.
 */
const form = process.env.TEST_FORM ?? '';
/** Whether all runs. */
export const isWhole: boolean = ['generators', 'full'].includes(form);
/** Whether this is a run on another Node version than the oldest. */
export const isOtherVersion: boolean = ['host', 'newest'].includes(form);
/** One of so many is run in a sample. It is a prime, so that it doesn't follow a pattern. */
const share = 5;

/** The number of runs of a property that has so many in the whole. */
export function runsOf(whole: number): number {
  return isWhole ? whole : Math.ceil(whole / share);
}

/** All of a list, or every fifth of it. */
export function someOf<T>(list: readonly T[]): readonly T[] {
  return isWhole ? list : list.filter((_, index) => index % share === 0);
}

/**
 * The mounts in which a test runs: in `npm test` every third, from the second on, which includes
 * each host and each kind of body. Other Node versions run all, because a host may differ there.
 */
export function someMounts<Mount>(mounts: readonly Mount[]): readonly Mount[] {
  return isWhole || isOtherVersion ? mounts : mounts.filter((_, index) => index % 3 === 1);
}
