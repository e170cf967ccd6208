/** The log of `tollgate serve`: one JSON object per line, as log collectors expect. */
import type { Clock } from '../clock.ts';
import type { EventListener } from '../events.ts';
import { logEvents } from '../log-events.ts';
import { withCommand } from './reasons.ts';

/** From the least to the most important; `silent` logs nothing. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

export interface Log {
  setLevel(level: LogLevel): void;
  /** Writes a line about the process itself, unless the level of the line is too low. */
  write(level: Exclude<LogLevel, 'silent'>, event: string, members?: object): void;
  /** The same, and nothing after it: port calls that were given up may still fail. */
  last(level: Exclude<LogLevel, 'silent'>, event: string, members?: object): void;
  /** Writes a line whatever the level of the log is: for changes by operators. */
  always(level: Exclude<LogLevel, 'silent'>, event: string, members: object): void;
  readonly event: EventListener;
}

/** A log that writes lines with `out`, in the form of {@link logEvents}. */
export function jsonLog(out: (text: string) => void, clock: Clock): Log {
  const log = ({ level, message, ...fields }: Line): void => {
    const time = new Date(clock.now()).toISOString();
    out(`${withCommand(JSON.stringify({ level, time, message, ...fields }))}\n`);
  };
  let lowest: LogLevel = 'info';
  let listener = listenerOf(log, lowest);
  const always: Log['always'] = (level, event, members) =>
    log({ level, message: `tollgate ${event}`, event, ...members });
  const setLevel: Log['setLevel'] = (level) => {
    lowest = level;
    listener = listenerOf(log, level);
  };
  const write: Log['write'] = (level, event, members = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(lowest)) return;
    always(level, event, members);
  };
  return {
    always,
    setLevel,
    write,
    last: (level, event, members) => {
      write(level, event, members);
      setLevel('silent');
    },
    event: (event) => listener(event),
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
