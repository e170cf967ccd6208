/**
 * Runs before every test file: an unhandled rejection, an uncaught exception or an unexpected
 * process warning fails the file that caused it, even if every test in it passed.
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
