/**
 * What each ending of a call costs its caller: one table, exported and tested as data. A host may
 * hand in its own.
 */

/** How a call ended, as far as money is concerned. */
export type CallEnding =
  /** Refused by us, refused by the upstream, or never sent: surely nothing ran. */
  | 'not_run'
  /** The whole reply came. */
  | 'complete'
  /** A 2xx reply that broke off, or was no reply of its kind. */
  | 'truncated'
  /** 5xx, reset or timeout before any output: it may have run. */
  | 'failed'
  /** A stream that broke, or reported an error, after output had begun. */
  | 'broken'
  /**
   * The caller went away before the status line, of an upstream that was at work. Where an account
   * kept it waiting, for 10 s or over a failed try, that is `failed`, at most three times a key and
   * hour.
   */
  | 'left_early'
  /** The caller went away while the reply was running. */
  | 'left'
  /** We cut it: a time limit, the hold used up, or shutdown. */
  | 'cut';

/**
 * `release`: the hold goes back, nothing is kept. `nothing`: settled with 0, kept as evidence.
 * `prompt`: the prompt's estimate. `usage`: the upstream's figures, else what was counted.
 * `observed`: the figures so far, else the prompt's estimate and what was counted. `pend`: the hold
 * stays for one long lease, then goes back, unless the host reconciles it.
 */
export type ChargeRule = 'release' | 'nothing' | 'prompt' | 'usage' | 'observed' | 'pend';

/** The three shapes a call's reply has. */
export type ReplyKind = 'whole' | 'streamed' | 'image';

/** A rule for every ending and every kind of reply. */
export type ChargePolicy = Readonly<Record<CallEnding, Readonly<Record<ReplyKind, ChargeRule>>>>;

/**
 * The default. Nothing is charged for no output: a gateway that charged prompts of failed streams
 * had to pay it back. Output that was forwarded is charged, and so is the prompt of a caller that
 * left a working upstream: gateways that did not were used for free.
 */
export const chargePolicy: ChargePolicy = {
  not_run: { whole: 'release', streamed: 'release', image: 'release' },
  complete: { whole: 'usage', streamed: 'usage', image: 'usage' },
  truncated: { whole: 'observed', streamed: 'observed', image: 'pend' },
  failed: { whole: 'nothing', streamed: 'nothing', image: 'pend' },
  broken: { whole: 'observed', streamed: 'observed', image: 'pend' },
  left_early: { whole: 'prompt', streamed: 'prompt', image: 'pend' },
  left: { whole: 'observed', streamed: 'observed', image: 'usage' },
  cut: { whole: 'observed', streamed: 'observed', image: 'pend' },
};
