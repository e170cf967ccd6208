/** The result of one check of `tollgate check`. */

export interface Finding {
  /**
   * `ok`, `warning`: it works, but something should be changed; `failed`: calls would fail;
   * `skipped`: it could not be tried, because another check failed.
   */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was checked: `stores.redis`, `channel openai-1`. */
  readonly subject: string;
  readonly detail: string;
}
