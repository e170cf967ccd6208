/**
 * Runs before every test file: a rejection nobody handled, an exception nobody caught or a process
 * warning nobody expected fails the file it came from, even where every test in it passed.
 */
import { afterAll } from 'vitest';
import { takeWarnings } from './process-warnings.ts';

const unhandled: unknown[] = [];

const note = (problem: unknown): void => {
  unhandled.push(problem);
};

process.on('unhandledRejection', note).on('uncaughtException', note);

afterAll(async () => {
  const problems = [...(await takeWarnings()), ...unhandled];
  // Some files share a process.
  process.off('unhandledRejection', note).off('uncaughtException', note);

  if (problems.length > 0) {
    throw new AggregateError(
      problems,
      `Nobody expected these: ${problems.map(String).join(' · ')}`,
    );
  }
});
