/** Prices in words: what a million tokens of each kind cost, or an image. */
import type { CatalogModel } from '../api.ts';
import { type Child, el } from '../dom.ts';
import { countText } from '../format.ts';

type Price = CatalogModel['price'];
export type StatedPrice = NonNullable<Price>;
export type Cost = StatedPrice | 'reported' | null;

/** The rates that a price may have, in the order in which they are shown. */
export const rateNames = {
  input: 'input',
  cachedInput: 'cached input',
  cacheWrite5m: '5 min cache write',
  cacheWrite1h: '1 h cache write',
  output: 'output',
  reasoning: 'reasoning',
  audioInput: 'audio input',
  audioOutput: 'audio output',
  imageInput: 'image input',
  imageOutput: 'image output',
  videoInput: 'video input',
} as const;

export type RateName = keyof typeof rateNames;

export const allRates: readonly RateName[] = Object.keys(rateNames).filter(isRateName);

function isRateName(name: string): name is RateName {
  return Object.hasOwn(rateNames, name);
}

type Rates = { readonly [Name in RateName]?: string | null };

/** The rates that are stated, with their names. */
export function statedRates(rates: Rates): readonly (readonly [name: string, rate: string])[] {
  return allRates.flatMap((name) => {
    const rate = rates[name];
    return rate === undefined || rate === null ? [] : [[rateNames[name], rate] as const];
  });
}

/** A price in a line: the first rates, or the images. */
export function priceCell(price: Price): Child {
  if (price === null) return el('span', { class: 'hint' }, 'from a list of prices');
  const [first, ...more] = priceLines(price);
  return [first, more.length === 0 ? undefined : el('span', { class: 'below' }, more.join(' · '))];
}

/** A cost in a line. */
export function costCell(cost: Cost): Child {
  if (cost === null) return 'not stated';
  return cost === 'reported' ? 'what its replies report' : priceCell(cost);
}

/** Everything that a price states, a line for each part. */
export function priceLines(price: StatedPrice): readonly string[] {
  if (price.per === 'free') return ['free'];
  const members = Object.entries(price.members ?? {}).map(memberLine);
  if (price.per === 'image') {
    const rows = price.rows.map(({ size, quality, price: amount }) => {
      const which = [size, quality].filter((text) => text !== null && text !== undefined);
      return `${amount} per image${which.length === 0 ? '' : `, ${which.join(' ')}`}`;
    });
    return [...rows, ...members];
  }
  const { tiers } = price;
  return [
    ratesLine(price),
    ...(tiers ?? []).map(
      (tier) => `above ${countText(tier.aboveInputTokens)} input tokens: ${ratesLine(tier)}`,
    ),
    ...members,
  ];
}

function ratesLine(rates: Rates): string {
  return statedRates(rates)
    .map(([name, rate]) => `${name} ${rate}`)
    .join(', ');
}

type Member = {
  readonly multiplier?: string | null;
  readonly perCall?: string | null;
} | null;

function memberLine([name, price]: readonly [string, Member | undefined]): string {
  const what = name.replaceAll('_', ' ');
  const parts = [
    price?.multiplier == null ? undefined : `× ${price.multiplier}`,
    price?.perCall == null ? undefined : `${price.perCall} per call`,
  ].filter((text) => text !== undefined);
  return parts.length === 0 ? `${what} allowed` : `${what} ${parts.join(', ')}`;
}
