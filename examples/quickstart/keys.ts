/** The demo's keys: one for text, and one for images with its own quota. */
import { type IssuedKey, issueKey, money } from 'tollgate';

export interface DemoKeys {
  readonly text: IssuedKey;
  readonly image: IssuedKey;
}

/** The secrets that a caller of the demo needs. */
export interface DemoSecrets {
  readonly text: string;
  readonly image: string;
}

/** Issues both keys, with new secrets. */
export function demoKeys(): DemoKeys {
  return {
    text: issueKey({
      group: 'text',
      limitNanos: money('5'),
      period: 'month',
      maxConcurrentCalls: 20,
    }),
    image: issueKey({
      group: 'image',
      limitNanos: money('2'),
      // Every key of this group is also charged to this subject, which limits the cost of images.
      quota: [{ id: 'group-image', period: 'day', limitNanos: money('10') }],
    }),
  };
}
