/** How important each event is, and which events a listener wants. */
import { ConfigurationError } from '../errors.ts';
import { likeliestName } from '../ports/likely-names.ts';
import type { EventFilter, EventListener, EventType, GatewayEvent, LogLevel } from './events.ts';
import { swallowErrors } from './thrown.ts';

/** Adds listeners, for some events or all. */
export interface EventSource {
  /**
   * Adds a listener beside the option `onEvent`, and returns the function that removes it.
   * Listeners are called synchronously, in the asynchronous context of the request that an event
   * belongs to. What they throw is swallowed, and promises are not awaited. What was
   * not wanted by anybody when its request began comes outside of that context.
   *
   * @throws ConfigurationError if it is no function, or the filter names an unknown event or level
   */
  subscribe(listener: EventListener, filter?: EventFilter): () => void;
  /**
   * Passes an event of something beside the gateway to all its listeners, such as those of a
   * catalog: `jsonFileCatalog({ onEvent: (event) => gateway.emit(event) })`.
   */
  emit(event: GatewayEvent): void;
}

/** The option `onEvent` with a filter. */
export interface FilteredListener extends EventFilter {
  /** Receives the events that pass the filter. */
  listener(event: GatewayEvent): void;
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
  notification_failed: 'error',
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
  /** The types of which it may want an event. */
  readonly possible: ReadonlySet<EventType>;
  readonly onClose: EventFilter['onClose'];
  wants(head: EventHead): boolean;
}

/** @throws ConfigurationError if it is no gateway; `maker` is the function that was given it */
export function checkSource(maker: string, gateway: unknown): void {
  const isSource =
    typeof gateway === 'object' &&
    gateway !== null &&
    typeof Reflect.get(gateway, 'subscribe') === 'function';
  if (isSource) return;
  throw new ConfigurationError(
    `${maker}: gateway must be an object with subscribe(). createGateway() creates one.`,
  );
}

/** @throws ConfigurationError if it is no listener, or if its filter is none */
export function subscriptionOf(
  given: EventListener | FilteredListener,
  filter: EventFilter = typeof given === 'function' ? carriedFilter(given) : given,
): Subscription {
  checkListener(given);
  const { types, level, onClose } = checkedFilter(filter);
  const possible = new Set(types.filter((type) => isAtLeast(highestLevelOf(type), level)));
  return {
    listener: typeof given === 'function' ? given : (event) => given.listener(event),
    possible,
    onClose,
    wants: (head) => possible.has(head.type) && isAtLeast(levelOf(head), level),
  };
}

/** Shared by all copies of the package. */
const filterMember: unique symbol = Symbol.for('tollgate.eventFilter');

/** A listener that ignores the events of lower levels, so that they need not be created. */
export function fromLevel(listener: EventListener, level: LogLevel): EventListener {
  return Object.assign(listener, { [filterMember]: { level } });
}

function carriedFilter(listener: unknown): EventFilter {
  const carried = typeof listener === 'function' && Reflect.get(listener, filterMember);
  return carried ? checkedFilter(carried) : {};
}

const allTypes = Object.keys(defaultLevels).filter(isType);

function isType(name: unknown): name is EventType {
  return typeof name === 'string' && Object.hasOwn(defaultLevels, name);
}

function highestLevelOf(type: EventType): LogLevel {
  return type === 'attempt_ended' ? 'warn' : defaultLevels[type];
}

function checkListener(given: unknown): void {
  const listener =
    typeof given === 'object' && given !== null ? Reflect.get(given, 'listener') : given;
  if (typeof listener === 'function') return;
  throw new ConfigurationError('A listener must be a function, or an object with listener().');
}

/** The type of event that a misspelt one may stand for. */
function guessOf(types: unknown): string {
  const unknown: unknown = Array.isArray(types) ? types.find((type) => !isType(type)) : types;
  const meant = typeof unknown === 'string' ? likeliestName(unknown, allTypes) : undefined;
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

const filterNames: ReadonlySet<string> = new Set(['types', 'level', 'onClose', 'listener']);

function checkedFilter(
  filter: unknown,
): Pick<EventFilter, 'onClose'> & Required<Omit<EventFilter, 'onClose'>> {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw new ConfigurationError("A listener's filter must be an object: { types, level }.");
  }
  const unknown = Object.keys(filter).find((name) => !filterNames.has(name));
  if (unknown !== undefined && !('listener' in filter)) {
    throw new ConfigurationError(
      `A listener's filter has types, level and onClose, and no member ${JSON.stringify(unknown)}.`,
    );
  }
  const level: unknown = Reflect.get(filter, 'level') ?? 'debug';
  const types: unknown = Reflect.get(filter, 'types') ?? allTypes;
  if (!isLevel(level)) {
    throw new ConfigurationError(`A listener's level must be one of ${logLevels.join(', ')}.`);
  }
  if (!Array.isArray(types) || !types.every(isType)) {
    throw new ConfigurationError(
      "A listener's types must be a list of types of events, as docs/events.md has them." +
        guessOf(types),
    );
  }
  const onClose: unknown = Reflect.get(filter, 'onClose');
  if (onClose !== undefined && typeof onClose !== 'function') {
    throw new ConfigurationError("A listener's onClose must be a function.");
  }
  if (onClose === undefined) return { types: [...types], level };
  return {
    types: [...types],
    level,
    onClose: async () => void (await Reflect.apply(onClose, undefined, [])),
  };
}

export function isLevel(value: unknown): value is LogLevel {
  return logLevels.some((level) => level === value);
}

/** Swallows the listener's exceptions, so that a host's mistake does not fail a call. */
export function quietListener(listener: () => EventListener | undefined): EventListener {
  return (event) => {
    const current = listener();
    if (current !== undefined) swallowErrors(() => current(event));
  };
}
