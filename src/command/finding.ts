/** The result of one check of `tollgate check`. */

/** What one check found. */
export interface Finding {
  /** `ok`, `warning`: it works, but something should be changed; `failed`: calls would fail. */
  readonly state: 'ok' | 'warning' | 'failed';
  /** What was checked: `stores.redis`, `channel openai-1`. */
  readonly subject: string;
  readonly detail: string;
}
