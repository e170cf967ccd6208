/** Runs before every test file: properties draw their values from the seed of the run. */
import fc from 'fast-check';
import { seed } from '../seeds.ts';

// Shrinking a list of thousands of values takes hours without a turn of the event loop in which a
// test could time out. `TEST_SHRINK=1` looks for the smallest failure.
fc.configureGlobal({ seed, endOnFailure: process.env.TEST_SHRINK === undefined });
