/**
 * Posts notifications about a gateway: a listener of its events, which costs calls nothing. A
 * channel that recovers within a minute is not out, and one that comes and goes is reported at most
 * once in ten minutes for each of the two; what is true at their end is reported then.
 */
import { type Clock, systemClock } from '../clock.ts';
import type { EventOf, EventType, GatewayEvent } from '../events/events.ts';
import type { NotificationType } from '../events/notification-types.ts';
import { swallowErrors } from '../events/thrown.ts';
import type { Gateway } from '../gateway.ts';
import type { HealthStatus } from '../ports/health-status.ts';
import type { ChannelStatus } from '../upstream/channel-status.ts';
import { undiciClient } from '../upstream/undici-client.ts';
import { type AttemptResult, attempt, type Endpoint, keyIn } from './attempt.ts';
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

type ChannelChange = 'channel.out' | 'channel.back';

interface ChannelWatchDeps {
  readonly clock: Clock;
  readonly statuses: () => readonly ChannelStatus[];
  readonly report: (change: ChannelChange, status: ChannelStatus) => void;
}

interface Watched {
  outSinceMs: number | undefined;
  isReportedOut: boolean;
  /** The ten minutes in which each was last reported. */
  readonly reportedIn: Map<ChannelChange, number>;
}

const lookEveryMs = 1_000;
const outAfterMs = 60_000;

/** `deprioritized` still serves, and `off` is an operator's own decision. */
const outStates: ReadonlySet<HealthStatus['state']> = new Set([
  'refused',
  'open',
  'half_open',
  'cooling_down',
]);

export class ChannelWatch {
  readonly #deps: ChannelWatchDeps;
  readonly #watched = new Map<string, Watched>();
  #stopTimer: (() => void) | undefined;

  constructor(deps: ChannelWatchDeps) {
    this.#deps = deps;
  }

  /** The state of the channel, or of a model on it, has changed. */
  changed(channelId: string): void {
    if (!this.#watched.has(channelId)) {
      const fresh = { outSinceMs: undefined, isReportedOut: false, reportedIn: new Map() };
      this.#watched.set(channelId, fresh);
    }
    this.#stopTimer ??= this.#deps.clock.every(lookEveryMs, () => this.#look());
  }

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#watched.clear();
  }

  #look(): void {
    const statuses = new Map(this.#deps.statuses().map((status) => [status.channelId, status]));
    let isBusy = false;
    for (const [channelId, watched] of this.#watched) {
      const status = statuses.get(channelId);
      if (status === undefined) this.#watched.delete(channelId);
      else if (this.#judge(watched, status)) isBusy = true;
    }
    if (isBusy) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** True while the channel has to be looked at again although nothing changes. */
  #judge(watched: Watched, status: ChannelStatus): boolean {
    if (status.state === 'off') return false;
    const nowMs = this.#deps.clock.monotonicMs();
    if (!isOut(status)) {
      watched.outSinceMs = undefined;
      if (watched.isReportedOut) this.#report(watched, 'channel.back', status);
      return watched.isReportedOut;
    }
    watched.outSinceMs ??= nowMs;
    // A refused credential does not recover by itself.
    const isDue = status.state === 'refused' || nowMs - watched.outSinceMs >= outAfterMs;
    if (isDue && !watched.isReportedOut) this.#report(watched, 'channel.out', status);
    return true;
  }

  #report(watched: Watched, change: ChannelChange, status: ChannelStatus): void {
    const span = spanOf(this.#deps.clock.now());
    if (watched.reportedIn.get(change) === span) return;
    watched.reportedIn.set(change, span);
    watched.isReportedOut = change === 'channel.out';
    this.#deps.report(change, status);
  }
}

function isOut({ state, models }: ChannelStatus): boolean {
  return outStates.has(state) || models.some((model) => outStates.has(model.state));
}
