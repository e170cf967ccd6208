/** The demo's keys: one for text, and one for images with a quota of its own. */
import { type IssuedKey, issueKey } from 'tollgate';

export interface DemoKeys {
  readonly text: IssuedKey;
  readonly image: IssuedKey;
}

/** One currency unit is 1,000,000,000 nanos. */
const unit = 1_000_000_000n;

/** New secrets at every start: the demo's stores live in memory. */
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
