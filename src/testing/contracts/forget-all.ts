/** Forgets everything of an owner, batch by batch, as an operator does when removing a key. */
import assert from 'node:assert/strict';

/** More batches than any case needs: a store that never returns 0 fails. */
const maxBatches = 1_000;

/** How many were forgotten until a batch returned 0. */
export async function forgetAll(forgetSome: () => Promise<number>): Promise<number> {
  let sum = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const count = await forgetSome();
    if (count === 0) return sum;
    sum += count;
  }
  return assert.fail('forgetOwner never returned 0');
}
