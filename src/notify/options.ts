/** The options of `notify`. */
import type { Clock } from '../clock.ts';
import type { NotificationType } from '../events/notification-types.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';

/** The types of notifications that a configuration can choose from. */
export type NotifiedType = Exclude<NotificationType, 'test'>;

/** Where notifications go, and which. */
export interface NotifyOptions {
  /**
   * The URL that they are posted to: https, or http to this machine itself. Write it in code or
   * take it from a configuration; never from a request or from data that others can change.
   */
  readonly url: string;
  /**
   * The secret that signs them, `whsec_` and base64 of 24 to 64 random bytes; or two, of which
   * receivers may know either, while you replace one.
   */
  readonly secret: string | readonly [string, string];
  /** Which notifications are sent. Default: all but `store.failing`. */
  readonly on?: readonly NotifiedType[];
  /**
   * The members of a call's metadata that `budget.reached` has, such as `['user']`. Default: none.
   */
  readonly metadata?: readonly string[];
  /** What events call the endpoint. Default: the host of the URL. */
  readonly name?: string;
  /** The client that sends them, where `undiciClient()` does not work or for a private `ca`. */
  readonly client?: UpstreamClient;
  /** The clock, for tests. Default: the system's. */
  readonly clock?: Clock;
  /** A number in [0, 1) for the waits before retries, for tests. Default: `Math.random`. */
  readonly random?: () => number;
}
