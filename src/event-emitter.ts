/**
 * Passes the events of a gateway on to whoever listens: the option `onEvent`, and the listeners
 * that subscribed later.
 */
import { AsyncResource } from 'node:async_hooks';
import { type EventListener, type GatewayEvent, swallowErrors } from './events.ts';

/**
 * Emits the events of one request in the asynchronous context in which it began, where listeners
 * find the host's request. The chunks of a reply arrive in the context of the upstream's socket.
 */
export interface RequestEmit extends EventListener {
  /**
   * False if nobody listened when the request began. Then the events that only inform listeners are
   * not even created.
   */
  readonly isObserved: boolean;
}

export interface EventEmitter {
  /** Emits an event. Never throws: a listener's mistake must not fail a call. */
  readonly emit: EventListener;
  forRequest(): RequestEmit;
  subscribe(listener: EventListener): () => void;
}

/**
 * Makes the emitter of a gateway.
 *
 * @param onEvent the listener in the gateway's options, which may change
 * @param fallback receives the events while nobody listens
 */
export function eventEmitter(
  onEvent: () => EventListener | undefined,
  fallback: EventListener,
): EventEmitter {
  // Replaced at each change, so that listeners may come and go while an event is delivered.
  let listeners: readonly EventListener[] = [];
  const deliver = (event: GatewayEvent): void => {
    const own = onEvent();
    if (own === undefined && listeners.length === 0) return fallback(event);
    const sent = serializable(event);
    if (own !== undefined) swallowErrors(() => own(sent));
    for (const listener of listeners) swallowErrors(() => listener(sent));
  };
  const unobserved = Object.assign((event: GatewayEvent) => deliver(event), { isObserved: false });
  return {
    emit: deliver,
    forRequest: () => {
      if (listeners.length === 0 && onEvent() === undefined) return unobserved;
      // `AsyncLocalStorage.snapshot` costs half as much as a small call on Node 20, a hundred times
      // as much as this.
      const context = new AsyncResource('TollgateRequest', { requireManualDestroy: true });
      const inContext = (event: GatewayEvent) => context.runInAsyncScope(deliver, undefined, event);
      return Object.assign(inContext, { isObserved: true });
    },
    subscribe: (listener) => {
      // A function of its own for each subscription: the same listener may subscribe twice.
      const entry: EventListener = (event) => listener(event);
      listeners = [...listeners, entry];
      return () => {
        listeners = listeners.filter((other) => other !== entry);
      };
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

function toJson(this: unknown): unknown {
  return withoutBigints(this);
}

function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withoutBigints(one)]),
  );
}
