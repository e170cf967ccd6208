/** Puts the number of images that came into the usage of a reply that tells only of tokens. */
import type { ImageCounter } from '../dialects/dialect.ts';
import type { StreamTap } from '../dialects/tap.ts';
import { noUsage } from '../money.ts';
import type { PreparedCall } from './prepared-call.ts';

/** The same exchange, whose usage has the images of the reply as its caller gets it. */
export function withCountedImages(exchange: PreparedCall, begin: () => ImageCounter): PreparedCall {
  const { tap } = exchange;
  return {
    ...exchange,
    tap: tap === undefined ? undefined : () => countingTap(tap(), begin()),
    judge: (bytes) => {
      const judged = exchange.judge(bytes);
      if (judged.kind !== 'whole') return judged;
      const counter = begin();
      counter.write(judged.bytes);
      return { ...judged, usage: { ...(judged.usage ?? noUsage), images: counter.images() } };
    },
  };
}

function countingTap(tap: StreamTap, counter: ImageCounter): StreamTap {
  const counted = (bytes: Uint8Array): Uint8Array => {
    counter.write(bytes);
    return bytes;
  };
  return {
    ...tap,
    write: (chunk) => counted(tap.write(chunk)),
    end: () => counted(tap.end()),
    usage: () => {
      const usage = tap.usage();
      const images = counter.images();
      // That a whole reply has none is a figure too; of a part of one, nobody can say it yet.
      const isKnown = usage !== undefined || images > 0 || tap.complete();
      return isKnown ? { ...(usage ?? noUsage), images } : undefined;
    },
  };
}
