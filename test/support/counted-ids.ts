/** Ids for gateways under test. */

/** Counts up, so that runs are reproducible: `test-id-00000001`, or with another prefix. */
export function countedIds(beginning = 'test'): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${beginning}-id-${String(count).padStart(8, '0')}`;
  };
}
