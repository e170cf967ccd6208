/** The price of one image, by size and quality. */
import type { ImagePrice, Nanos } from '../money.ts';

/**
 * The price of one image of this size and quality, or undefined if no row applies: a price is never
 * guessed. A value that is missing or `auto` matches every row, and the most expensive one counts.
 */
export function imageNanos(
  price: ImagePrice,
  size: string | undefined,
  quality: string | undefined,
): Nanos | undefined {
  let max: Nanos | undefined;
  for (const row of price.rows) {
    if (!fits(size, row.size) || !fits(quality, row.quality)) continue;
    if (max === undefined || row.nanos > max) max = row.nanos;
  }
  return max;
}

function fits(requested: string | undefined, row: string | undefined): boolean {
  const value = normalised(requested);
  return row === undefined || value === undefined || value === 'auto' || value === normalised(row);
}

/**
 * Compared without case and white space, as servers do: ` 4K` must not pass as an unlisted size.
 */
function normalised(text: string | undefined): string | undefined {
  return text?.trim().toLowerCase();
}
