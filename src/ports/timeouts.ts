/** The timeouts of an upstream, which a gateway, a model and a channel may set. */

/** Timeouts for an upstream, in ms. */
export interface Timeouts {
  /** To connect to the upstream. */
  readonly connectMs: number;
  /** Until the status line of a streamed reply. */
  readonly firstByteStreamedMs: number;
  /** Until the status line of a reply that is not streamed, or of an image. */
  readonly firstByteMs: number;
  /**
   * Between two chunks of the reply. Time in which the gateway itself pauses the reply for a slow
   * caller does not count.
   */
  readonly idleMs: number;
  /** How long a stream may send nothing but pings and comments, at its start and between events. */
  readonly firstTokenMs: number;
  /**
   * How long the gateway keeps back the status line of a stream until the reply has content (text,
   * reasoning, a tool call, media, a refusal, a finish or an error), so that an early failure has
   * its own status; then it sends 200. Later in the stream: how long it may be quiet before the
   * gateway sends what keeps the connection alive: a comment to OpenAI's clients, a ping to
   * Anthropic's, nothing to others.
   */
  readonly quietMs: number;
  /** For the whole call. */
  readonly totalMs: number;
}
