/**
 * Runs before every test file: a rejection nobody handled, an exception nobody caught or a process
 * warning nobody expected fails the file it came from, even where every test in it passed.
 */
import { afterAll } from 'vitest';
import { takeUnhandled, takeWarnings } from './process-warnings.ts';

afterAll(async () => {
  const problems = [...(await takeWarnings()), ...takeUnhandled()];

  if (problems.length > 0) {
    throw new AggregateError(
      problems,
      `Nobody expected these: ${problems.map(String).join(' · ')}`,
    );
  }
});
