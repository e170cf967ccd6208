/**
 * Writes events to the host's logger: pino, winston, the console, and loggers of these shapes. An
 * event has no secret, prompt or completion, so no line has one, unless a function of the host put
 * it into an error.
 */
import { ConfigurationError, type ErrorCode } from '../errors.ts';
import { withoutBigints } from '../json.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import { formatMoney } from '../prices/amount.ts';
import { countedRepeats } from '../repeats.ts';
import type { EventListener, GatewayEvent, LogLevel } from './events.ts';
import { fromLevel, isAtLeast, isLevel, levelOf, logLevels } from './filter.ts';
import { detailsOf } from './thrown.ts';

/** The members of a line. All are JSON: amounts of money are decimal strings. */
export type LogFields = Readonly<Record<string, unknown>>;

/** A logger whose methods take the members first: pino, Fastify's `app.log`, bunyan. */
export type FieldsFirstLogger = {
  readonly [Level in LogLevel]: (fields: LogFields, message: string) => unknown;
} & { readonly log?: undefined };

/** A logger whose methods take the message first: winston, the console. */
export type MessageFirstLogger = {
  readonly [Level in LogLevel]: (message: string, fields: LogFields | string) => unknown;
} & {
  /** Distinguishes it from a logger that takes the members first. */
  readonly log: object;
};

/** A logger with one method, which takes the whole line: winston's `log`. */
export interface EntryLogger {
  /** Writes one line. */
  log(
    entry: LogFields & {
      /** How important the line is. */
      readonly level: LogLevel;
      /** The line in words. */
      readonly message: string;
    },
  ): unknown;
}

/** A logger of the host. */
export type EventLogger = FieldsFirstLogger | MessageFirstLogger | EntryLogger;

/** The options of `logEvents`. */
export interface LogEventsOptions {
  /**
   * The lowest level that is written, or a function that gives each event its level, and
   * `undefined` to leave it out. Default: everything; the logger has a level of its own.
   */
  readonly level?: LogLevel | ((event: GatewayEvent) => LogLevel | undefined);
}

/** Writes one line; chosen once, by the shape of the logger. */
type WriteLine = (level: LogLevel, message: string, fields: LogFields) => void;

/**
 * A listener that writes one line for each event: `gateway.subscribe(logEvents(pino()))`, or the
 * option `onEvent`. Calls are `info`, refusals `warn`, what loses money or data `error`;
 * docs/events.md has the level of each event. A port that fails has one line a second, whose
 * `repeats` is the number of failures that it stands for.
 *
 * @throws ConfigurationError if the logger has none of these shapes, or the level is unknown
 */
export function logEvents(logger: EventLogger, options: LogEventsOptions = {}): EventListener {
  const write = writerOf(logger);
  const level = levelIn(options);
  const shownLevel = levelFunction(level);
  const failures = countedRepeats(failureIntervalMs, () => performance.now());
  const listener: EventListener = (event) => {
    const level = shownLevel(event);
    if (level === undefined) return;
    const repeats = event.type === 'port_failed' ? failures(failureName(event)) : 1;
    if (repeats === undefined) return;
    const fields = fieldsOf(event);
    // The message is a constant: loggers put values in place of its `%s`, and a text that a caller
    // chose could begin a new line.
    write(level, `tollgate ${event.type}`, repeats > 1 ? { ...fields, repeats } : fields);
  };
  return typeof level === 'string' ? fromLevel(listener, level) : listener;
}

/** Each refused call has a line of its own, so that an outage needs no second one for each. */
const failureIntervalMs = 1_000;

function failureName(event: Extract<GatewayEvent, { readonly type: 'port_failed' }>): string {
  const { port, operation, reason, code, member } = event;
  return JSON.stringify([port, operation, reason, code, member]);
}

function levelIn(options: unknown): LogEventsOptions['level'] {
  if (typeof options === 'object' && options !== null) return Reflect.get(options, 'level');
  throw new ConfigurationError("logEvents: options must be an object, such as { level: 'warn' }.");
}

function levelFunction(
  level: LogEventsOptions['level'],
): (event: GatewayEvent) => LogLevel | undefined {
  if (typeof level === 'function') return level;
  const lowest = level ?? 'debug';
  if (!isLevel(lowest)) {
    throw new ConfigurationError(
      `logEvents: options.level must be one of ${logLevels.join(', ')}, or a function that ` +
        'returns one of them for an event.',
    );
  }
  return (event) => {
    const own = levelOf(event);
    return isAtLeast(own, lowest) ? own : undefined;
  };
}

function writerOf(logger: EventLogger): WriteLine {
  if (logger === null || typeof logger !== 'object') throw notALogger();
  if (isFieldsFirst(logger)) return (level, message, fields) => logger[level](fields, message);
  if (isMessageFirst(logger)) {
    // The console prints an object over several lines.
    return 'table' in logger
      ? (level, message, fields) => logger[level](message, JSON.stringify(fields))
      : (level, message, fields) => logger[level](message, fields);
  }
  if (typeof logger.log !== 'function') throw notALogger();
  return (level, message, fields) => logger.log({ ...fields, level, message });
}

function isFieldsFirst(logger: EventLogger): logger is FieldsFirstLogger {
  return hasLevels(logger) && logger.log === undefined;
}

function isMessageFirst(logger: EventLogger): logger is MessageFirstLogger {
  return hasLevels(logger) && typeof logger.log === 'function';
}

function hasLevels(logger: EventLogger): boolean {
  return logLevels.every((level) => typeof Reflect.get(logger, level) === 'function');
}

function notALogger(): ConfigurationError {
  return new ConfigurationError(
    'logEvents: logger must have the methods debug, info, warn and error, as pino, winston and ' +
      'the console have, or a method log that takes { level, message, … }.',
  );
}

function fieldsOf(event: GatewayEvent): LogFields {
  const { type, ...members } = event;
  if (!('record' in members)) {
    // Not a copied member, because it is not enumerable.
    const thrown = 'error' in event ? { error: detailsOf(event.error) } : {};
    return { event: type, ...withoutBigints(members), ...thrown };
  }
  const code = 'code' in members ? members.code : undefined;
  const param = 'param' in members ? { param: members.param } : {};
  return { event: type, ...fieldsOfRecord(members.record, code), ...param };
}

/** The usage record in one flat line. Money is in units of the host's currency, exactly. */
function fieldsOfRecord(record: UsageRecord, code: ErrorCode | undefined): LogFields {
  const { usage, attempts, costNanos } = record;
  return withoutBigints({
    requestId: record.requestId,
    keyId: record.keyId,
    group: record.group,
    metadata: record.metadata,
    protocol: record.protocol,
    streamed: record.streamed,
    modelId: record.modelId,
    channelId: record.channelId,
    upstreamModel: record.upstreamModel,
    attempts: attempts.length,
    status: record.status,
    code,
    outcome: record.outcome,
    reason: record.reason,
    durationMs: Math.round(record.durationMs),
    firstByteMs: record.firstByteMs === undefined ? undefined : Math.round(record.firstByteMs),
    inputTokens: usage?.inputTokens,
    cachedInputTokens: usage?.cachedInputTokens,
    outputTokens: usage?.outputTokens,
    reasoningTokens: usage?.reasoningTokens,
    images: usage?.images,
    charge: formatMoney(record.chargeNanos),
    cost: costNanos === undefined ? undefined : formatMoney(costNanos),
    held: formatMoney(record.heldNanos),
    basis: record.basis,
    booked: record.booked,
    revision: record.revision,
  });
}
