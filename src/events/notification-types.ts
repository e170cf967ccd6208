/** The names of notifications, and why one was not delivered. */

/** What a notification is about: the member `type` of its body. */
export type NotificationType =
  | 'budget.reached'
  | 'channel.out'
  | 'channel.back'
  | 'catalog.refused'
  | 'config.refused'
  | 'settlements.lost'
  | 'store.failing'
  | 'test';

/**
 * Why a notification was not delivered. `refused`: the endpoint replied with a status that a retry
 * does not change. `gone`: it replied 410, and gets nothing more until a restart. `unavailable`: it
 * replied 429 or 5xx until the retries ended. `timeout`: it did not reply within 10 s.
 * `connection`: no connection, or it broke off. `queue_full`: more important notifications were
 * waiting. `closed`: the gateway was closed before it was sent.
 */
export type NotificationFailure =
  | 'refused'
  | 'gone'
  | 'unavailable'
  | 'timeout'
  | 'connection'
  | 'queue_full'
  | 'closed';
