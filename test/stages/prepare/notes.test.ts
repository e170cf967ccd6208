// suite: quick
/** The header that lists the members that were left out. */
import { describe, expect, it } from 'vitest';
import { droppedNote } from '../../../src/stages/prepare/prepared-call.ts';

function listed(names: readonly string[]): string {
  return droppedNote(names, false)['x-tollgate-dropped'] ?? '';
}

describe('the list of members that were left out', () => {
  it('has every name once, if it is short', () => {
    expect(listed(['seed', 'logprobs', 'seed'])).toBe('seed,logprobs');
    expect(droppedNote([], false)).toEqual({});
  });

  it.each([
    1, 40, 120,
  ])('says how many more there are once 4 KB are full, for names of %i characters', (size) => {
    const names = Array.from({ length: 5_000 }, (_, n) => `${'x'.repeat(size)}${n}`);

    const list = listed(names);
    const kept = list.split(',').slice(0, -1);

    expect(list.length).toBeLessThanOrEqual(4_096);
    expect(kept).toEqual(names.slice(0, kept.length));
    expect(list.endsWith(`,+${names.length - kept.length} more`)).toBe(true);
  });
});
