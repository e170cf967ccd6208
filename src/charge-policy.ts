/** The charge for each ending of a call, as a table that hosts can replace. */

/** The ending of a call, as far as its charge depends on it. */
export type CallEnding =
  /** Refused by the gateway or the upstream, or never sent: it surely did not run. */
  | 'not_run'
  /** The complete reply was received. */
  | 'complete'
  /**
   * A 2xx reply that was incomplete or invalid, or a call split into several requests of which the
   * upstream refused a later one as the caller's fault.
   */
  | 'truncated'
  /** A 2xx reply that says that the call still runs: the upstream took it into the background. */
  | 'still_running'
  /**
   * A 5xx, reset or timeout before any output: the call may have run. Also a split call of which
   * a request failed through no fault of the caller.
   */
  | 'failed'
  /** A stream that failed or reported an error after output had begun. */
  | 'broken'
  /**
   * The caller disconnected before the status line, from an upstream that was working. If the
   * account had kept it waiting for 10 s, or an earlier attempt had failed, the ending is `failed`
   * instead, at most three times per key and hour.
   */
  | 'left_early'
  /** The caller disconnected while the reply was being sent. */
  | 'left'
  /** The gateway ended it: a time limit, the hold was used up, or shutdown. */
  | 'cut';

/**
 * `release`: the hold is released, without a settlement. `nothing`: settled with 0, which keeps a
 * record. `prompt`: the estimated prompt. `usage`: the usage that the upstream reported, else the
 * counted output. `observed`: the usage reported so far, else the estimated prompt and the counted
 * output. `pend`: the hold stays for one long lease and is then released, unless the host
 * reconciles it.
 */
export type ChargeRule = 'release' | 'nothing' | 'prompt' | 'usage' | 'observed' | 'pend';

/** The kinds of replies. */
export type ReplyKind = 'whole' | 'streamed' | 'image';

/** The rule for each ending and kind of reply. */
export type ChargePolicy = Readonly<Record<CallEnding, Readonly<Record<ReplyKind, ChargeRule>>>>;

/**
 * The default. Without output nothing is charged: a gateway that charged the prompts of failed
 * streams had to refund them. Output that was forwarded is charged. So is the prompt of a caller
 * that disconnected from a working upstream: gateways that did not charge it were used for free.
 */
export const chargePolicy: ChargePolicy = {
  not_run: { whole: 'release', streamed: 'release', image: 'release' },
  complete: { whole: 'usage', streamed: 'usage', image: 'usage' },
  truncated: { whole: 'observed', streamed: 'observed', image: 'pend' },
  still_running: { whole: 'pend', streamed: 'pend', image: 'pend' },
  failed: { whole: 'nothing', streamed: 'nothing', image: 'pend' },
  broken: { whole: 'observed', streamed: 'observed', image: 'pend' },
  left_early: { whole: 'prompt', streamed: 'prompt', image: 'pend' },
  left: { whole: 'observed', streamed: 'observed', image: 'usage' },
  cut: { whole: 'observed', streamed: 'observed', image: 'pend' },
};
