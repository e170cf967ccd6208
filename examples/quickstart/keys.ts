/** The demo's keys: one for text, and one for images with a quota of its own. */
import { type IssuedKey, issueKey, money } from 'tollgate';

export interface DemoKeys {
  readonly text: IssuedKey;
  readonly image: IssuedKey;
}

/** What a caller of the demo has to know of them. */
export interface DemoSecrets {
  readonly text: string;
  readonly image: string;
}

/** Issues both, with secrets nobody has had before. */
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
      // Every key of the group draws on this too, so that image cost is isolated.
      quota: [{ id: 'group-image', period: 'day', limitNanos: money('10') }],
    }),
  };
}
