/** The self-test of the quota store: finds server settings that would break its guarantees. */
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

/** The oldest release that still gets fixes. */
const oldestServer = 130_000;

/**
 * The problems, each a sentence with its remedy; empty where there is none.
 *
 * @throws StoreUnavailable where the server can't be reached
 */
export async function quotaProblems(
  db: Statements,
  options: CallOptions,
): Promise<readonly string[]> {
  const [row] = await db.rows(readSettings, [], options);
  const problems: readonly (readonly [boolean, string])[] = [
    [
      integerAt(row, 'server_version') < oldestServer,
      'PostgreSQL is older than 13. Use a release that is still maintained.',
    ],
    [
      flagAt(row, 'is_replica') || textAt(row, 'read_only') === 'on',
      'The server is read-only. Connect to the primary.',
    ],
    [
      textAt(row, 'isolation') !== 'read committed',
      "default_transaction_isolation must be 'read committed'. Set it for the gateway's role.",
    ],
    [
      textAt(row, 'synchronous_commit') === 'off',
      'synchronous_commit is off: a crash loses the last charges. Switch it on for the role.',
    ],
  ];
  const version = await versionProblem(db, options);
  const found = problems.flatMap(([isPresent, sentence]) => (isPresent ? [sentence] : []));
  return version === undefined ? found : [...found, version];
}
