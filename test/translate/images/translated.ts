/** Helpers for tests that translate replies of Google's image models. */

import { capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import { geminiCapabilities } from '../../../src/dialects/gemini/dialect.ts';
import { geminiImages } from '../../../src/dialects/gemini/image/codec.ts';
import type { FailureReport, StreamTap } from '../../../src/dialects/taps/tap.ts';
import type { Usage } from '../../../src/money.ts';

/** Creates the tap of one reply. */
export function freshTap(): StreamTap {
  const upstreamModel = 'gemini-2.5-flash-image';
  const exchange = geminiImages.begin(
    {
      prompt: 'A cat.',
      candidates: 1,
      size: undefined,
      quality: undefined,
      outputFormat: undefined,
      background: undefined,
      endUserId: undefined,
      dropped: [],
    },
    {
      upstreamModel,
      capabilities: capabilitiesOf(geminiCapabilities, upstreamModel, undefined),
      maxOutputTokens: undefined,
      ids: () => 'id',
    },
  );
  return exchange.tap({
    fallbackId: 'id',
    createdSeconds: 1_700_000_000,
    newId: () => 'id',
    modelId: 'pictures',
    wantsUsage: true,
    framing: 'json',
  });
}

/** The complete result of a reply. */
export interface Translated {
  readonly out: string;
  readonly complete: boolean;
  readonly failure: FailureReport | undefined;
  readonly usage: Usage | undefined;
  readonly countedTokens: number;
}

/** Feeds a reply to a tap, split at the given positions. */
export function translated(text: string, cuts: readonly number[] = []): Translated {
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length];
  const tap = freshTap();
  let out = '';
  let start = 0;
  for (const end of ends.toSorted((a, b) => a - b)) {
    out += Buffer.from(tap.write(bytes.subarray(start, end))).toString('latin1');
    start = end;
  }
  out += Buffer.from(tap.end()).toString('latin1');
  return {
    out,
    complete: tap.complete(),
    failure: tap.failure(),
    usage: tap.usage(),
    countedTokens: tap.countedTokens(),
  };
}

/** A reply whose only candidate has these parts, as JSON text. */
export function answerOf(...parts: readonly string[]): string {
  return `{"candidates":[{"content":{"parts":[${parts.join(',')}],"role":"model"}}]}`;
}

/** The Base64 of the images in the translated reply; empty if there is no output. */
export function imagesIn(text: string): readonly string[] {
  const { out, complete } = translated(text);
  if (out === '') return [];
  if (!complete) throw new Error('The answer is not complete.');
  const reply: { readonly data: readonly { readonly b64_json: string }[] } = JSON.parse(out);
  return reply.data.map((image) => image.b64_json);
}
