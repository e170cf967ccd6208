/** Ids for gateways under test. */

/** Counted, so that runs are alike: `test-id-00000001`, or with another beginning. */
export function countedIds(beginning = 'test'): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${beginning}-id-${String(count).padStart(8, '0')}`;
  };
}
