/** The reporters of a test run: the terminal and, if `TEST_REPORTS` is set, a file there. */
import type { ViteUserConfig } from 'vitest/config';

type Reporters = NonNullable<NonNullable<ViteUserConfig['test']>['reporters']>;

/** One JSON file for each suite and Node version, which `.ci/run` adds up. */
export function reporters(suite: string): Reporters {
  const folder = process.env.TEST_REPORTS;
  if (folder === undefined || folder === '') return ['default'];
  return ['default', ['json', { outputFile: `${folder}/${suite}-${process.version}.json` }]];
}
