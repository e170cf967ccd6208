/** Counts the results of the rows of one file, and prints them in a line at the end. */
import { afterAll, afterEach } from 'vitest';

/** To be called once, before the first test of a file: `F51–F62: 224 passed, 0 failed`. */
export function countedRows(rows: string): void {
  let passed = 0;
  let failed = 0;
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') failed += 1;
    else passed += 1;
  });
  afterAll(() => {
    process.stdout.write(`${rows}: ${passed} passed, ${failed} failed\n`);
  });
}
