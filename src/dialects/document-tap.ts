/** Watches one big JSON document stream past, an image reply of 48 MB say, without holding it. */

import { asBuffer } from '../bytes/decode.ts';
import { jsonWatch } from '../bytes/json/stream/watch.ts';
import { emptyBytes } from '../bytes/sse.ts';
import { type JsonValue, parseJson } from '../json.ts';
import type { Usage } from '../money.ts';
import { contentTokens } from './content-count.ts';
import { brokenReply, byteBounds, type FailureReport, type StreamTap } from './tap.ts';

/** What the documents of a dialect differ in. */
export interface DocumentTapOptions {
  /** The top-level member that holds the figures. */
  readonly usageMember: string;
  /** Reads that member, undefined where the document has none. */
  readonly readUsage: (usage: JsonValue | undefined, images: number) => Usage | undefined;
  /** Reads an error inside a 2xx document. */
  readonly inBandFailure: (document: JsonValue) => FailureReport | undefined;
  /**
   * Every element of `data` must be Base64, and there must be one: an address is never passed on.
   */
  readonly isImages: boolean;
}

/** A document that begins with its error is one, though the error be too large to keep. */
const beginsWithError = /^\s*\{\s*"error"\s*:\s*[^\sn]/;

/**
 * Everything passes but an error or an image that is only an address; a document that breaks off
 * can only be cut, for nothing may follow half a string.
 */
export function documentTap(options: DocumentTapOptions): StreamTap {
  const watch = jsonWatch({
    capture: [options.usageMember, 'error'],
    countIn: { array: 'data', member: 'b64_json' },
  });
  let failure: FailureReport | undefined;
  let bytes = 0;
  const bounds = byteBounds();

  const failureIn = (chunk: Uint8Array): FailureReport | undefined => {
    const { captured, elements, counted } = watch.end();
    const error = captured.error === undefined ? undefined : parseJson(captured.error);
    const report = error === undefined ? undefined : options.inBandFailure({ error });
    if (report !== undefined) return report;
    if (options.isImages && elements > counted) return brokenReply('upstream_image_not_base64');
    const isFirst = bytes === 0 && beginsWithError.test(asBuffer(chunk).toString('latin1', 0, 64));
    return isFirst ? brokenReply('upstream_error') : undefined;
  };

  return {
    hasBegun: () => bytes > 0,
    write: (chunk) => {
      bounds.add(chunk.length, true);
      watch.write(chunk);
      failure ??= failureIn(chunk);
      if (failure !== undefined) return emptyBytes;
      bytes += chunk.length;
      return chunk;
    },
    end: () => emptyBytes,
    finished: () => false,
    complete: () => {
      const { complete, elements } = watch.end();
      return complete && !(options.isImages && elements === 0);
    },
    failure: () => failure,
    usage: () => {
      const report = watch.end();
      const text = report.captured[options.usageMember];
      return options.readUsage(text === undefined ? undefined : parseJson(text), report.counted);
    },
    countedTokens: () => contentTokens(bytes),
    progress: () => 0,
    breakOff: () => undefined,
  };
}
