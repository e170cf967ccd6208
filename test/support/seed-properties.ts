/** Runs before every test file: properties draw their values from the seed of the run. */
import fc from 'fast-check';
import { seed } from './seeds.ts';

fc.configureGlobal({ seed });
