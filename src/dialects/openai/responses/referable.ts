/** Finds what later requests may refer to in a relayed reply that is too large to be parsed. */
import { watchIds } from '../../../bytes/json/stream/watch.ts';
import type { StreamTap } from '../../taps/tap.ts';

/** The tap of one document, which collects the ids in it as well. */
export function referableDocument(tap: StreamTap): StreamTap {
  const ids = watchIds('output');
  return {
    ...tap,
    write: (chunk) => {
      ids.write(chunk);
      return tap.write(chunk);
    },
    referable: () => ({ replyId: ids.own(), items: ids.ofElements().map((id) => ({ id })) }),
  };
}
