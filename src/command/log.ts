/**
 * The log of `tollgate serve`: one JSON object per line, as log collectors expect; and the audit
 * trail, in a file of its own or in the log.
 */

import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AuditListener } from '../admin/audit/audit.ts';
import type { Clock } from '../clock.ts';
import { isError } from '../errors.ts';
import type { EventListener, GatewayEvent } from '../events/events.ts';
import { logEvents } from '../events/log.ts';
import { thrownCode } from '../events/thrown.ts';
import { CommandError, exitCodes } from './command.ts';
import { logLevels, type ServeConfig } from './config/config.ts';
import { withCommand } from './output.ts';

type LogLevel = (typeof logLevels)[number];

type LineLevel = Exclude<LogLevel, 'silent'>;

export type Log = ReturnType<typeof jsonLog>;

/** A log that writes lines with `out`, in the form of {@link logEvents}. */
export function jsonLog(out: (text: string) => void, clock: Clock) {
  const log = ({ level, message, ...fields }: Line): void => {
    const time = new Date(clock.now()).toISOString();
    out(`${withCommand(JSON.stringify({ level, time, message, ...fields }))}\n`);
  };
  let lowest: LogLevel = 'info';
  let listener = listenerOf(log, lowest);
  /** Writes a line whatever the level of the log is: for changes by operators. */
  const always = (level: LineLevel, event: string, members: object): void =>
    log({ level, message: `tollgate ${event}`, event, ...members });
  const setLevel = (level: LogLevel): void => {
    lowest = level;
    listener = listenerOf(log, level);
  };
  /** Writes a line about the process itself, unless the level of the line is too low. */
  const write = (level: LineLevel, event: string, members: object = {}): void => {
    if (logLevels.indexOf(level) < logLevels.indexOf(lowest)) return;
    always(level, event, members);
  };
  return {
    always,
    setLevel,
    write,
    /** The same, and nothing after it: port calls that were given up may still fail. */
    last: (level: LineLevel, event: string, members?: object): void => {
      write(level, event, members);
      setLevel('silent');
    },
    event: (event: GatewayEvent): void => listener(event),
  };
}

interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

function listenerOf(log: (line: Line) => void, level: LogLevel): EventListener {
  return level === 'silent' ? () => {} : logEvents({ log }, { level });
}

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
