/** Prometheus' own checker of rules and of the output of metrics, from Debian's package. */
import { spawnSync } from 'node:child_process';

/**
 * Whether suites that need promtool can run; prints a line if they cannot.
 *
 * @throws if `REQUIRE_SERVICES=1` and they cannot
 */
export function hasPromtool(): boolean {
  if (spawnSync('promtool', ['--version']).status === 0) return true;
  const sentence = 'promtool is not installed: its suites are SKIPPED. apt-get install prometheus';
  if (process.env.REQUIRE_SERVICES === '1') throw new Error(sentence);
  process.stderr.write(`\n*** ${sentence}\n\n`);
  return false;
}

/** What promtool printed, and whether it found nothing wrong. */
export interface PromtoolResult {
  readonly isValid: boolean;
  readonly output: string;
}

/** Runs promtool with these arguments, and this text as its input. */
export function promtool(parameters: readonly string[], input = ''): PromtoolResult {
  const { status, stdout, stderr } = spawnSync('promtool', parameters, { input, encoding: 'utf8' });
  return { isValid: status === 0, output: `${stdout}${stderr}` };
}
