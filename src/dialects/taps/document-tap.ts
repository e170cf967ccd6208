/**
 * Inspects a single large JSON document, such as an image reply of 48 MB, while it streams past,
 * without buffering it.
 */

import { parseBounded, parseBoundedExactly } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { type JsonWatchReport, jsonWatch } from '../../bytes/json/stream/watch.ts';
import { emptyBytes } from '../../bytes/sse.ts';
import type { JsonValue } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { contentTokens } from './content-count.ts';
import { brokenReply, byteBounds, type FailureReport, type StreamTap } from './tap.ts';

export interface DocumentTapOptions {
  readonly usageMember: string;
  readonly readUsage: (usage: JsonValue | undefined, images: number) => Usage | undefined;
  readonly inBandFailure: (document: JsonValue) => FailureReport | undefined;
  /**
   * The document must have at least one element in `data`, each with Base64: image URLs are never
   * passed on.
   */
  readonly isImageReply: boolean;
}

/**
 * Recognises a document whose first member is an error, even if the error is too large to capture.
 */
const beginsWithError = /^\s*\{\s*"error"\s*:\s*[^\sn]/;

/**
 * Passes everything except an error and images that are only a URL. Once a part of the document has
 * been sent, a failure can only cut the connection, because nothing can follow half a string.
 */
export function documentTap(options: DocumentTapOptions): StreamTap {
  const watch = jsonWatch({
    capture: [options.usageMember, 'error'],
    countIn: { array: 'data', member: 'b64_json' },
  });
  let failure: FailureReport | undefined;
  let bytes = 0;
  const bounds = byteBounds();

  return {
    hasBegun: () => bytes > 0,
    write: (chunk) => {
      bounds.add(chunk.length, true);
      watch.write(chunk);
      failure ??=
        failureIn(watch.end(), options) ?? (bytes === 0 ? errorAtStart(chunk) : undefined);
      if (failure !== undefined) return emptyBytes;
      bytes += chunk.length;
      return chunk;
    },
    end: () => emptyBytes,
    finished: () => false,
    complete: () => {
      const { complete, elements } = watch.end();
      return complete && !(options.isImageReply && elements === 0);
    },
    failure: () => failure,
    usage: () => {
      const report = watch.end();
      const text = report.captured[options.usageMember];
      return options.readUsage(
        text === undefined ? undefined : parseBoundedExactly(text),
        report.counted,
      );
    },
    countedTokens: () => contentTokens(bytes),
    progress: () => 0,
    breakOff: () => undefined,
  };
}

function failureIn(
  { captured, elements, counted }: JsonWatchReport,
  { inBandFailure, isImageReply }: DocumentTapOptions,
): FailureReport | undefined {
  const error = captured.error === undefined ? undefined : parseBounded(captured.error);
  const report = error === undefined ? undefined : inBandFailure({ error });
  if (report !== undefined) return report;
  return isImageReply && elements > counted ? brokenReply('upstream_image_not_base64') : undefined;
}

function errorAtStart(chunk: Uint8Array): FailureReport | undefined {
  const start = asBuffer(chunk).toString('latin1', 0, 64);
  return beginsWithError.test(start) ? brokenReply('upstream_error') : undefined;
}
