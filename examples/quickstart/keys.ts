/** The demo's keys: one for text, and one for images with a quota of its own. */
import { type IssuedKey, issueKey } from 'tollgate';

export interface DemoKeys {
  readonly text: IssuedKey;
  readonly image: IssuedKey;
}

/** What a caller of the demo has to know of them. */
export interface DemoSecrets {
  readonly text: string;
  readonly image: string;
}

/** One currency unit is 1,000,000,000 nanos. */
const unit = 1_000_000_000n;

/** Issues both, with secrets nobody has had before. */
export function demoKeys(): DemoKeys {
  return {
    text: issueKey({
      group: 'text',
      limitNanos: 5n * unit,
      period: 'month',
      maxInFlight: 20,
    }),
    image: issueKey({
      group: 'image',
      limitNanos: 2n * unit,
      // Every key of the group draws on this too, so that image cost is isolated.
      quota: [{ id: 'group-image', period: 'day', limitNanos: 10n * unit }],
    }),
  };
}
