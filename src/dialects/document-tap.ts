/** Watches one big JSON document stream past, an image reply of 48 MB say, without holding it. */

import { noBytes } from '../bytes/sse.ts';
import { jsonWatch } from '../bytes/watch.ts';
import { type JsonValue, parseJson } from '../json.ts';
import type { Usage } from '../money.ts';
import type { StreamTap } from './dialect.ts';

/** What the documents of a dialect differ in. */
export interface DocumentTapOptions {
  /** The top-level member that holds the figures. */
  readonly usageMember: string;
  /** Reads that member, undefined where the document has none. */
  readonly readUsage: (usage: JsonValue | undefined, images: number) => Usage | undefined;
}

/**
 * Everything passes; a document that breaks off can only be cut, for nothing may follow half a
 * string.
 */
export function documentTap(options: DocumentTapOptions): StreamTap {
  const watch = jsonWatch({
    capture: [options.usageMember],
    countIn: { array: 'data', member: 'b64_json' },
  });
  let bytes = 0;
  return {
    write: (chunk) => {
      watch.write(chunk);
      bytes += chunk.length;
      return chunk;
    },
    end: () => noBytes,
    finished: () => false,
    complete: () => watch.end().complete,
    failure: () => undefined,
    usage: () => {
      const report = watch.end();
      const text = report.captured[options.usageMember];
      return options.readUsage(text === undefined ? undefined : parseJson(text), report.counted);
    },
    countedTokens: () => Math.ceil(bytes / 3),
    breakOff: () => undefined,
  };
}
