/**
 * Money is whole nanos in a `bigint`, never a float: `Nanos`, the prices a model may have, and what
 * a usage costs at a price.
 */

/**
 * 1 nano is 1e-9 of the host's currency unit. 0 to 2^53 − 1, about nine million units a subject and
 * period: one bound for every store, because Redis counts in doubles.
 */
export type Nanos = bigint;

/** The largest amount any store holds: 2^53 − 1. */
export const maxNanos: Nanos = 9_007_199_254_740_991n;

/** What one million tokens cost, by kind. */
export interface TokenPrice {
  readonly per: 'token';
  readonly inputPerMillionNanos: Nanos;
  readonly outputPerMillionNanos: Nanos;
  /** Prompt tokens read from the upstream's cache; as input where left out. */
  readonly cachedInputPerMillionNanos?: Nanos;
}

/** What one image costs, by size and quality. */
export interface ImagePrice {
  readonly per: 'image';
  /**
   * A row without `size` or `quality` fits every value of it; of the rows that fit the dearest
   * counts.
   */
  readonly rows: readonly {
    readonly size?: string;
    readonly quality?: string;
    readonly nanos: Nanos;
  }[];
}

/** A model that costs its callers nothing, said aloud: a model without a price is not served. */
export interface FreePrice {
  readonly per: 'nothing';
}

/** What a model costs its callers. */
export type Price = TokenPrice | ImagePrice | FreePrice;

/** What a reply consumed, in the terms a price is in. */
export interface Usage {
  /** Prompt tokens, the cached ones among them. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that the upstream read from its cache. */
  readonly cachedInputTokens: number;
  /** Completion tokens, reasoning among them. */
  readonly outputTokens: number;
  /** Images made; 0 for text. */
  readonly images: number;
}

/** The usage of a prompt that its provider blocked, and of which it states nothing. */
export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  images: 0,
};

const million = 1_000_000n;

/**
 * What a usage costs, rounded up once, never above {@link maxNanos}.
 *
 * `unitNanos` is what one image costs where the price is by image, from {@link imageNanos}.
 */
export function costOf(usage: Usage, price: Price, unitNanos: Nanos = 0n): Nanos {
  switch (price.per) {
    case 'nothing':
      return 0n;
    case 'image':
      return atMost(BigInt(usage.images) * unitNanos);
    case 'token': {
      const cached = price.cachedInputPerMillionNanos ?? price.inputPerMillionNanos;
      const fresh = usage.inputTokens - usage.cachedInputTokens;
      const millionths =
        BigInt(fresh) * price.inputPerMillionNanos +
        BigInt(usage.cachedInputTokens) * cached +
        BigInt(usage.outputTokens) * price.outputPerMillionNanos;
      return atMost((millionths + million - 1n) / million);
    }
  }
}

/**
 * What one image of this size and quality costs, or undefined where no row fits: a price is never
 * guessed. A value left out or `auto` fits every row, and the dearest of them counts.
 */
export function imageNanos(
  price: ImagePrice,
  size: string | undefined,
  quality: string | undefined,
): Nanos | undefined {
  // Servers are lenient with case and white space: ` 4K` must not pass for an unlisted size.
  const plain = (text: string | undefined): string | undefined => text?.trim().toLowerCase();
  const fits = (asked: string | undefined, row: string | undefined): boolean => {
    const value = plain(asked);
    return row === undefined || value === undefined || value === 'auto' || value === plain(row);
  };
  return price.rows
    .filter((row) => fits(size, row.size) && fits(quality, row.quality))
    .reduce<Nanos | undefined>(
      (dearest, row) => (dearest === undefined || row.nanos > dearest ? row.nanos : dearest),
      undefined,
    );
}

/** The dearest unit of a price, which a channel's `maxPriceNanos` is held against. */
export function dearestUnit(price: Price): Nanos {
  switch (price.per) {
    case 'nothing':
      return 0n;
    case 'image':
      return imageNanos(price, undefined, undefined) ?? 0n;
    case 'token':
      return price.outputPerMillionNanos;
  }
}

function atMost(nanos: Nanos): Nanos {
  return nanos > maxNanos ? maxNanos : nanos;
}
