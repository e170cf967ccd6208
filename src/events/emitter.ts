/**
 * Passes the events of a gateway on to whoever listens: the option `onEvent`, and the listeners
 * that subscribed later.
 */
import { AsyncResource } from 'node:async_hooks';
import { isHostFailure } from '../host/failures.ts';
import { withoutBigints } from '../json.ts';
import type { EventListener, GatewayEvent } from './events.ts';
import {
  type EventHead,
  type EventSource,
  type FilteredListener,
  type Subscription,
  subscriptionOf,
} from './filter.ts';
import { swallowErrors } from './thrown.ts';

/**
 * Emits the events of one request in the asynchronous context in which it began, where listeners
 * find the host's request. The chunks of a reply arrive in the context of the upstream's socket.
 */
export interface RequestEmit extends EventListener {
  /**
   * Whether a listener wants the event. Otherwise those that only inform listeners are not even
   * created.
   */
  wants(head: EventHead): boolean;
}

export interface EventEmitter extends EventSource {
  /** Emits an event. Never throws: a listener's mistake must not fail a call. */
  readonly emit: EventListener;
  forRequest(): RequestEmit;
  /** Waits for the `onClose` of all listeners. Never rejects. */
  closeListeners(): Promise<void>;
}

/**
 * Makes the emitter of a gateway.
 *
 * @param onEvent the listener in the gateway's options, which may change
 * @param fallback receives the events that no listener wants
 */
export function eventEmitter(
  onEvent: () => EventListener | FilteredListener | undefined,
  fallback: EventListener,
): EventEmitter {
  // Replaced at each change, so that listeners may come and go while an event is delivered.
  let audience = audienceOf([]);
  let own: { readonly option?: ReturnType<typeof onEvent>; readonly entry?: Subscription } = {};
  const current = (): Audience => {
    const option = onEvent();
    if (option === own.option) return audience;
    const others = audience.all.filter((one) => one !== own.entry);
    own = option === undefined ? {} : { option, entry: subscriptionOf(option) };
    audience = audienceOf(own.entry === undefined ? others : [own.entry, ...others]);
    return audience;
  };
  const deliver = (event: GatewayEvent): void => {
    const wanting = current().all.filter((one) => one.wants(event));
    if (wanting.length === 0) return fallback(event);
    const sent = serializable(event);
    for (const { listener } of wanting) swallowErrors(() => listener(sent));
  };
  // Of all who listen by now, not only those of the request's beginning.
  const wants = (head: EventHead): boolean => audience.wants(head);
  return {
    emit: deliver,
    forRequest: () => {
      const hasListeners = current().all.length > 0;
      if (!hasListeners) return Object.assign((event: GatewayEvent) => deliver(event), { wants });
      // `AsyncLocalStorage.snapshot` costs half as much as a small call on Node 20, a hundred times
      // as much as this.
      const context = new AsyncResource('TollgateRequest', { requireManualDestroy: true });
      const inContext = (event: GatewayEvent) => context.runInAsyncScope(deliver, undefined, event);
      return Object.assign(inContext, { wants });
    },
    closeListeners: async () => {
      await Promise.allSettled(current().all.map(async ({ onClose }) => onClose?.()));
    },
    subscribe: (listener, filter) => {
      // One of its own each time: the same listener may subscribe twice.
      const entry = subscriptionOf(listener, filter);
      audience = audienceOf([...current().all, entry]);
      return () => {
        audience = audienceOf(audience.all.filter((other) => other !== entry));
      };
    },
  };
}

/** All who listen. */
interface Audience {
  readonly all: readonly Subscription[];
  readonly wants: RequestEmit['wants'];
}

function audienceOf(all: readonly Subscription[]): Audience {
  const possible = new Set(all.flatMap((one) => [...one.possible]));
  return {
    all,
    wants: (head) => {
      if (possible.has(head.type) && all.some((one) => one.wants(head))) return true;
      // What only the host can fix becomes a process warning if no listener gets it.
      const { type, reason, isOfUser = false } = head;
      return type === 'attempt_ended' && !isOfUser && isHostFailure(reason);
    },
  };
}

function serializable(event: GatewayEvent): GatewayEvent {
  switch (event.type) {
    case 'call_ended':
    case 'call_booked':
      return withToJson({ ...event, record: withToJson({ ...event.record }) });
    case 'settlement_lost':
      return withToJson({ ...event, end: withToJson({ ...event.end }) });
    case 'usage_anomaly':
    case 'quota_low':
      return withToJson(event);
    default:
      return event;
  }
}

/**
 * The prototype of events with amounts: as that of any object, and with a method for
 * `JSON.stringify`. A property of each event would cost ten times as much.
 */
const withAmounts: object = Object.create(Object.prototype, {
  constructor: { value: Object },
  toJSON: { value: toJson },
});

/** Adds a method that is not copied, compared or logged with the members. */
function withToJson<T extends object>(value: T): T {
  return Object.setPrototypeOf(value, withAmounts);
}

function toJson(this: object): unknown {
  return withoutBigints(this);
}
