/**
 * The audit trail of the command: a JSON line for each change, in a file of its own or in the log.
 */

import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AuditListener } from '../admin/audit.ts';
import { isError } from '../errors.ts';
import { thrownCode } from '../thrown.ts';
import { CommandError, exitCodes } from './command.ts';
import type { ServeConfig } from './config/config.ts';
import type { Log } from './log.ts';

/**
 * Writes entries to the file that the configuration names, else to the log. The file is opened for
 * each entry, so that it may be rotated; an entry that can't be written there goes to the log.
 *
 * @param folder of the configuration file; a relative path is resolved against it
 * @throws CommandError if the file can't be written, before anything is changed
 */
export function auditTo(
  audit: ServeConfig['audit'],
  folder: string,
  log: Pick<Log, 'always'>,
): AuditListener {
  const path = audit?.file === undefined ? undefined : resolve(folder, audit.file);
  if (path !== undefined) append(path, '');
  return (entry) => {
    const { atMs, ...members } = entry;
    const level = entry.outcome === 'done' ? 'info' : 'warn';
    if (path === undefined) return log.always(level, 'audit', members);
    const time = new Date(atMs).toISOString();
    const line = { level, time, message: 'tollgate audit', event: 'audit', ...members };
    try {
      append(path, `${JSON.stringify(line)}\n`);
    } catch (error) {
      log.always(level, 'audit', members);
      log.always('error', 'audit_not_written', { reason: isError(error) ? error.message : '' });
    }
  };
}

function append(path: string, text: string): void {
  try {
    appendFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    const code = thrownCode(error);
    const message = `audit.file can't be written (${code}). Its folder must exist and be writable.`;
    throw new CommandError(exitCodes.unreachable, message, error);
  }
}
