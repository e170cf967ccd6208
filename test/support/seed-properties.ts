/** Runs before every test file: properties without a seed of their own are the same in each run. */
import fc from 'fast-check';

fc.configureGlobal({ seed: 20_261_123 });
