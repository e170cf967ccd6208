/** How important each event is, and which events a listener wants. */
import { ConfigurationError } from './errors.ts';
import type { EventFilter, EventListener, EventOf, EventType, LogLevel } from './events.ts';
import { swallowErrors } from './thrown.ts';

/** Adds listeners, for some events or all. */
export interface EventSource {
  /**
   * Adds a listener beside the option `onEvent`, and returns the function that removes it.
   * Listeners are called synchronously, in the asynchronous context of the request that an event
   * belongs to. What they throw is swallowed, and promises are not awaited. A request that began
   * before may not have its events.
   *
   * @throws ConfigurationError if the filter names an unknown event or level
   */
  subscribe<Type extends EventType = EventType>(
    listener: (event: EventOf<Type>) => void,
    filter?: EventFilter<Type>,
  ): () => void;
}

/** The option `onEvent` with a filter. */
export interface FilteredListener extends EventFilter {
  readonly listener: EventListener;
}

/** What of an event decides who wants it; known before the event is created. */
export interface EventHead {
  readonly type: EventType;
  readonly reason?: string | undefined;
  readonly state?: string | undefined;
  /** An account that `credential` named, which may be a user's: no warning for the host. */
  readonly isOfUser?: boolean;
}

/** From the least to the most important. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const satisfies LogLevel[];

/** The level of each event; {@link levelOf} has the exceptions. */
export const defaultLevels: Readonly<Record<EventType, LogLevel>> = {
  call_refused: 'warn',
  call_repeated: 'info',
  call_started: 'debug',
  attempt_started: 'debug',
  first_byte: 'debug',
  part_failed: 'warn',
  attempt_ended: 'debug',
  call_ended: 'info',
  call_booked: 'info',
  stored_reply_read: 'info',
  no_channel: 'warn',
  model_fallback: 'warn',
  channel_changed: 'warn',
  port_failed: 'error',
  settlement_lost: 'error',
  refusals_lost: 'warn',
  hold_lapsed: 'warn',
  usage_anomaly: 'warn',
  unknown_usage: 'warn',
  quota_low: 'warn',
  no_stated_maximum: 'warn',
  embedding_format: 'warn',
  path_misplaced: 'warn',
  body_consumed: 'warn',
  references_per_process: 'warn',
  index_lost: 'warn',
  items_not_kept: 'warn',
  catalog_loaded: 'info',
  catalog_refused: 'error',
  config_loaded: 'info',
  config_refused: 'error',
  internal_error: 'error',
};

/**
 * A failed attempt is a warning. A caller who disconnected is none, and neither is a channel that
 * is ready again.
 */
export function levelOf({ type, reason, state }: EventHead): LogLevel {
  const level = defaultLevels[type];
  if (type === 'channel_changed') return state === 'ready' ? 'info' : level;
  if (reason === 'caller_left') return level === 'debug' ? level : 'info';
  return type === 'attempt_ended' && reason !== undefined ? 'warn' : level;
}

export function isAtLeast(level: LogLevel, lowest: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(lowest);
}

/** A listener and what it wants. */
export interface Subscription {
  readonly listener: EventListener;
  /** Those it asks for, also where it leaves out the less important. */
  readonly types: ReadonlySet<EventType>;
  /** The types of which it may want an event. */
  readonly possible: ReadonlySet<EventType>;
  wants(head: EventHead): boolean;
}

/** @throws ConfigurationError if the filter names no event or level of ours */
export function subscriptionOf(
  given: EventListener | FilteredListener,
  filter: EventFilter = given,
): Subscription {
  checkFilter(filter);
  const { types = allTypes, level = 'debug' } = filter;
  const possible = new Set(types.filter((type) => isAtLeast(highestLevelOf(type), level)));
  return {
    listener: typeof given === 'function' ? given : given.listener,
    types: new Set(types),
    possible,
    wants: (head) => possible.has(head.type) && isAtLeast(levelOf(head), level),
  };
}

const allTypes = Object.keys(defaultLevels).filter(isType);

function isType(name: string): name is EventType {
  return Object.hasOwn(defaultLevels, name);
}

function highestLevelOf(type: EventType): LogLevel {
  return type === 'attempt_ended' ? 'warn' : defaultLevels[type];
}

function checkFilter({ types = [], level }: EventFilter): void {
  if (level !== undefined && !logLevels.includes(level)) {
    throw new ConfigurationError(`A listener's level must be one of ${logLevels.join(', ')}.`);
  }
  const isList = Array.isArray(types);
  const unknown = isList ? types.find((type) => !isType(type)) : undefined;
  if (isList && unknown === undefined) return;
  throw new ConfigurationError(
    "A listener's types must be a list of types of events, as docs/events.md has them" +
      (isList ? `: ${JSON.stringify(unknown)} is none.` : '.'),
  );
}

/** Swallows the listener's exceptions, so that a host's mistake does not fail a call. */
export function quietListener(listener: () => EventListener | undefined): EventListener {
  return (event) => {
    const current = listener();
    if (current !== undefined) swallowErrors(() => current(event));
  };
}
