/** The self-test of the quota store: what of a server's settings would make its promises false. */
import type { CallOptions } from '../../ports/call-options.ts';
import { flagAt, integerAt, textAt } from '../sql/columns.ts';
import type { Statements } from './client.ts';
import { versionProblem } from './migrations.ts';

const readSettings = `
SELECT current_setting('server_version_num')::integer AS server_version,
  pg_is_in_recovery() AS is_replica,
  current_setting('default_transaction_isolation') AS isolation,
  current_setting('default_transaction_read_only') AS read_only,
  current_setting('synchronous_commit') AS synchronous_commit`;

/** The oldest release that is still mended. */
const oldestServer = 130_000;

/**
 * Sentences with their cure; none where all is well.
 *
 * @throws StoreUnavailable where the server can't be asked
 */
export async function quotaProblems(
  place: Statements,
  options: CallOptions,
): Promise<readonly string[]> {
  const [row] = await place.rows(readSettings, [], options);
  const problems: readonly (readonly [boolean, string])[] = [
    [
      integerAt(row, 'server_version') < oldestServer,
      'PostgreSQL is older than 13. Use a release that is still maintained.',
    ],
    [
      flagAt(row, 'is_replica') || textAt(row, 'read_only') === 'on',
      'The server only reads. Connect to the primary.',
    ],
    [
      textAt(row, 'isolation') !== 'read committed',
      "default_transaction_isolation must be 'read committed'. Set it for the gateway's role.",
    ],
    [
      textAt(row, 'synchronous_commit') === 'off',
      'synchronous_commit is off: a crash forgets the last charges. Switch it on for the role.',
    ],
  ];
  const version = await versionProblem(place, options);
  const found = problems.flatMap(([isSo, sentence]) => (isSo ? [sentence] : []));
  return version === undefined ? found : [...found, version];
}
