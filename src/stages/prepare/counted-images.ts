/** Adds the number of images in a reply to its usage, for upstreams that report tokens only. */
import type { ImageCounter } from '../../dialects/dialect.ts';
import type { StreamTap } from '../../dialects/taps/tap.ts';
import { noUsage } from '../../money.ts';
import type { PreparedRequest } from './prepared-call.ts';

/**
 * Wraps a prepared call so that its usage includes the images in the reply, counted as the caller
 * gets it.
 */
export function withCountedImages(
  prepared: PreparedRequest,
  makeCounter: () => ImageCounter,
): PreparedRequest {
  const { tap } = prepared;
  return {
    ...prepared,
    tap: tap === undefined ? undefined : () => countingTap(tap(), makeCounter()),
    judge: (bytes) => {
      const judgement = prepared.judge(bytes);
      if (judgement.kind !== 'whole') return judgement;
      const counter = makeCounter();
      counter.write(judgement.bytes);
      return { ...judgement, usage: { ...(judgement.usage ?? noUsage), images: counter.images() } };
    },
  };
}

function countingTap(tap: StreamTap, counter: ImageCounter): StreamTap {
  const counting = (bytes: Uint8Array): Uint8Array => {
    counter.write(bytes);
    return bytes;
  };
  return {
    ...tap,
    write: (chunk) => counting(tap.write(chunk)),
    end: () => counting(tap.end()),
    usage: () => {
      const usage = tap.usage();
      const images = counter.images();
      // A complete reply without images is known to have none. An unfinished one may get some.
      const isKnown = usage !== undefined || images > 0 || tap.complete();
      return isKnown ? { ...(usage ?? noUsage), images } : undefined;
    },
  };
}
