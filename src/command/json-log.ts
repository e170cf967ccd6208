/** Writes the log of `tollgate serve`: one JSON object a line, which log collectors read. */
import type { Clock } from '../clock.ts';
import type { GatewayEvent } from '../events.ts';
import type { LogLevel } from './config/config.ts';

/** A log whose level can change. */
export interface JsonLog {
  setLevel(level: LogLevel): void;
  /** Writes a line unless its level is too low. Amounts in it become texts. */
  write(level: Exclude<LogLevel, 'silent'>, message: string, members?: object): void;
  /** Writes the line of an event. */
  event(event: GatewayEvent): void;
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** A log that writes lines by `out`. */
export function jsonLog(out: (text: string) => void, clock: Clock): JsonLog {
  let lowest = levels.indexOf('info');

  const write: JsonLog['write'] = (level, message, members = {}) => {
    if (levels.indexOf(level) < lowest) return;
    const time = new Date(clock.now()).toISOString();
    out(`${JSON.stringify({ level, time, message, ...members }, withoutBigints)}\n`);
  };

  return {
    setLevel: (level) => {
      lowest = levels.indexOf(level);
    },
    write,
    event: (event) => {
      const { type, ...members } = event;
      write(levelOf(event), type, event.type === 'call_ended' ? callMembers(event) : members);
    },
  };
}

/** What a line says of a call: the figures, not the whole record. */
function callMembers({ record }: Extract<GatewayEvent, { type: 'call_ended' }>): object {
  const { requestId, keyId, group, protocol, modelId, channelId, streamed, attempts } = record;
  const { outcome, reason, status, durationMs, firstByteMs, usage } = record;
  const { inputTokens, outputTokens } = usage ?? {};
  const { chargeNanos, booked } = record;
  return {
    ...{
      requestId,
      keyId,
      group,
      protocol,
      modelId,
      channelId,
      streamed,
      attempts: attempts.length,
    },
    ...{ outcome, reason, status, durationMs, firstByteMs },
    ...{ inputTokens, outputTokens, chargeNanos, booked },
  };
}

const errors: ReadonlySet<string> = new Set([
  'port_failed',
  'settlement_lost',
  'internal_error',
  'catalog_refused',
]);
const infos: ReadonlySet<string> = new Set([
  'call_ended',
  'call_repeated',
  'catalog_loaded',
  'call_booked',
]);
/** What `call_ended` sums up. */
const details: ReadonlySet<string> = new Set(['call_started', 'attempt_started', 'first_byte']);

function levelOf(event: GatewayEvent): Exclude<LogLevel, 'silent'> {
  const { type } = event;
  if (errors.has(type)) return 'error';
  if (details.has(type)) return 'debug';
  if (type === 'attempt_ended' && event.reason === undefined) return 'debug';
  return infos.has(type) ? 'info' : 'warn';
}

function withoutBigints(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
