/** Posts notifications about a gateway: a listener of its events, which costs calls nothing. */
import { systemClock } from '../clock.ts';
import type { EventOf, EventType, GatewayEvent } from '../events/events.ts';
import type { NotificationType } from '../events/notification-types.ts';
import { swallowErrors } from '../events/thrown.ts';
import type { Gateway } from '../gateway.ts';
import { undiciClient } from '../upstream/undici-client.ts';
import { type AttemptResult, attempt, type Endpoint } from './attempt.ts';
import { ChannelWatch } from './channel-watch.ts';
import { checkNotifyOptions, defaultTypes } from './check-options.ts';
import { DeliveryQueue } from './delivery-queue.ts';
import {
  budgetReached,
  channelMessage,
  fileRefused,
  type Message,
  settlementsLost,
  spanOf,
  storeFailing,
  testMessage,
} from './messages.ts';
import type { NotifiedType, NotifyOptions } from './options.ts';
import { keyIn } from './signature.ts';

/** The notifications of a gateway to one endpoint. */
export interface Notifications {
  /**
   * Sends what waits, for at most 5 s, and stops. `gateway.close()` does it too. What could not be
   * sent is reported by `notification_failed`.
   */
  close(): Promise<void>;
}

/**
 * Posts signed JSON to a URL when a budget is nearly used, a channel is out or back, a changed
 * catalog or configuration is refused, or a charge is lost: see docs/notifications.md. Call it once
 * for each endpoint.
 *
 * @throws ConfigurationError that names the option and the remedy
 */
export function notify(
  gateway: Pick<Gateway, 'subscribe' | 'emit' | 'channels'>,
  options: NotifyOptions,
): Notifications {
  const endpoint = endpointOf(options);
  const { clock, client } = endpoint;
  const { name = endpoint.url.host, random = Math.random } = options;
  const queue = new DeliveryQueue({
    ...{ clock, random },
    attempt: (message) => attempt(endpoint, message),
    report: (failure) => gateway.emit({ type: 'notification_failed', endpoint: name, ...failure }),
  });
  const source = new MessageSource(options, endpoint, gateway, queue);
  let closed: Promise<void> | undefined;
  const closeOnce = async (): Promise<void> => {
    unsubscribe();
    source.close();
    await queue.close();
    try {
      await client.close();
    } catch {
      // A host's own client; nothing more can be done.
    }
  };
  const close = (): Promise<void> => {
    closed ??= closeOnce();
    return closed;
  };
  const unsubscribe = gateway.subscribe((event) => source.take(event), {
    types: typesFor(options.on ?? defaultTypes),
    onClose: close,
  });
  return { close };
}

/** Sends one test message, without retries. */
export async function sendTest(options: NotifyOptions): Promise<AttemptResult> {
  const endpoint = endpointOf(options);
  try {
    return await attempt(endpoint, testMessage(endpoint.clock.now()));
  } finally {
    await endpoint.client.close();
  }
}

function endpointOf(options: NotifyOptions): Endpoint {
  checkNotifyOptions(options);
  const { url, secret, client = undiciClient(), clock = systemClock() } = options;
  const secrets = typeof secret === 'string' ? [secret] : secret;
  const keys = secrets.flatMap((one) => keyIn(one) ?? []);
  return { url: new URL(url), keys, client, clock };
}

const eventsOf = {
  'budget.reached': 'quota_low',
  'channel.out': 'channel_changed',
  'channel.back': 'channel_changed',
  'catalog.refused': 'catalog_refused',
  'config.refused': 'config_refused',
  'settlements.lost': 'settlement_lost',
  'store.failing': 'port_failed',
} as const satisfies Record<NotifiedType, EventType>;

function typesFor(notified: readonly NotifiedType[]): readonly EventType[] {
  return [...new Set(notified.map((type) => eventsOf[type]))];
}

/** An outage may lose thousands of charges at once, which are one notification. */
const gatherMs = 1_000;

/** Makes messages of events. */
class MessageSource {
  readonly #endpoint: Endpoint;
  readonly #queue: DeliveryQueue;
  readonly #wanted: ReadonlySet<NotificationType>;
  readonly #metadata: readonly string[];
  readonly #channels: ChannelWatch;
  /** The ten minutes in which each port was last reported, since it fails with each call. */
  readonly #failingPorts = new Map<string, number>();
  #lost: EventOf<'settlement_lost'>[] = [];
  #stopGathering: (() => void) | undefined;

  constructor(
    { on = defaultTypes, metadata = [] }: NotifyOptions,
    endpoint: Endpoint,
    gateway: Pick<Gateway, 'channels'>,
    queue: DeliveryQueue,
  ) {
    this.#endpoint = endpoint;
    this.#queue = queue;
    this.#wanted = new Set(on);
    this.#metadata = metadata;
    const { clock } = endpoint;
    this.#channels = new ChannelWatch({
      clock,
      statuses: () => gateway.channels(),
      report: (change, status) => this.#add(channelMessage(change, status, clock.now())),
    });
  }

  take(event: GatewayEvent): void {
    const nowMs = this.#endpoint.clock.now();
    switch (event.type) {
      case 'quota_low':
        return this.#add(budgetReached(event, this.#metadata, nowMs));
      case 'channel_changed':
        return this.#channels.changed(event.channelId);
      case 'catalog_refused':
      case 'config_refused':
        return this.#add(fileRefused(event, nowMs));
      case 'settlement_lost':
        return this.#gather(event);
      case 'port_failed': {
        const span = spanOf(nowMs);
        if (this.#failingPorts.get(event.port) === span) return;
        this.#failingPorts.set(event.port, span);
        return this.#add(storeFailing(event, nowMs));
      }
      default:
    }
  }

  /** Queues what was being gathered. */
  close(): void {
    this.#channels.stop();
    this.#sendLost();
  }

  #add(message: Message): void {
    if (this.#wanted.has(message.type)) swallowErrors(() => this.#queue.add(message));
  }

  #gather(event: EventOf<'settlement_lost'>): void {
    this.#lost.push(event);
    this.#stopGathering ??= this.#endpoint.clock.every(gatherMs, () => this.#sendLost());
  }

  #sendLost(): void {
    this.#stopGathering?.();
    this.#stopGathering = undefined;
    const lost = this.#lost;
    this.#lost = [];
    if (lost.length > 0) this.#add(settlementsLost(lost, this.#endpoint.clock.now()));
  }
}
