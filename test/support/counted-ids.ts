/** Ids for gateways under test. */

/** Counted, so that runs are alike: `test-id-00000001`. */
export function countedIds(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `test-id-${String(count).padStart(8, '0')}`;
  };
}
