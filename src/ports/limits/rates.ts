/** Rate limits as a host states them, in the records of keys and in models. */

/**
 * The most in each period. Each stated period is a token bucket of its own: it begins full, can be
 * emptied at once, and refills evenly over the period. A period that is left out has no limit.
 */
export interface AmountPerPeriod {
  /** How many in a minute. Default: no limit. */
  readonly perMinute?: number;
  /** How many in an hour. Default: no limit. */
  readonly perHour?: number;
  /** How many in a day. Default: no limit. */
  readonly perDay?: number;
}

/** Limits of calls and of tokens; at least one of the two. All that are stated apply. */
export interface RateLimits {
  /** How many calls may start. */
  readonly calls?: AmountPerPeriod;
  /**
   * Input and output tokens together. A call takes an upper bound of its input and its output limit
   * (`max_tokens`; 1,024 where it states none), and when it ends, this is corrected to the tokens
   * that it used.
   */
  readonly tokens?: AmountPerPeriod;
}

/**
 * Rate limits in the record of a key. A plan for a team, with its own limits, a lower one for an
 * expensive model, and one that all keys of its group share:
 *
 * ```ts
 * rates: [
 *   { calls: { perMinute: 60 }, tokens: { perMinute: 200_000, perDay: 5_000_000 } },
 *   { model: 'gpt-4o', tokens: { perMinute: 30_000 } },
 *   { subject: 'group.pro', calls: { perMinute: 1_000 } },
 * ]
 * ```
 */
export interface KeyRateLimits extends RateLimits {
  /**
   * Shares the limits with all keys whose records name this subject, such as those of a group;
   * 1 to 128 printable ASCII characters without spaces. Default: the id of the key, so that they
   * are its own.
   */
  readonly subject?: string;
  /** The id or an alias of the only model whose calls count. Default: all models together. */
  readonly model?: string;
  /**
   * Shows callers the limit and the remaining amount of a shared subject. Default: that of the
   * key's quota subject with this id, else false, because they reveal what others use. Those of the
   * key itself are always shown.
   */
  readonly visible?: boolean;
}
