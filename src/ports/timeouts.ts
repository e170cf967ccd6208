/** The timeouts of an upstream, which a gateway, a model and a channel may set. */

/** Timeouts for an upstream, in ms. */
export interface Timeouts {
  readonly connectMs: number;
  /** Until the status line of a streamed reply. */
  readonly firstByteStreamedMs: number;
  /** Until the status line of a reply that is not streamed. */
  readonly firstByteMs: number;
  /**
   * Between two chunks of the reply. Time in which the gateway itself pauses the reply for a slow
   * caller does not count.
   */
  readonly idleMs: number;
  /** How long a stream may send nothing but pings and comments, at its start and between events. */
  readonly firstTokenMs: number;
  /**
   * How long the gateway keeps back the status line of a stream until the reply has content, so
   * that an early failure has its own status; then it sends 200. Later in the stream: how long it
   * may be quiet before the gateway sends a comment that keeps the connection alive, where the
   * caller's clients accept comments.
   */
  readonly quietMs: number;
  readonly totalMs: number;
}
