/** What one image costs, by its size and quality. */
import type { ImagePrice, Nanos } from '../money.ts';

/**
 * What one image of this size and quality costs, or undefined where no row fits: a price is never
 * guessed. A value that is left out or `auto` fits every row; the most expensive of them counts.
 */
export function imageNanos(
  price: ImagePrice,
  size: string | undefined,
  quality: string | undefined,
): Nanos | undefined {
  let most: Nanos | undefined;
  for (const row of price.rows) {
    if (!fits(size, row.size) || !fits(quality, row.quality)) continue;
    if (most === undefined || row.nanos > most) most = row.nanos;
  }
  return most;
}

function fits(requested: string | undefined, row: string | undefined): boolean {
  const value = normalised(requested);
  return row === undefined || value === undefined || value === 'auto' || value === normalised(row);
}

/** Servers are lenient with case and white space: ` 4K` must not pass for an unlisted size. */
function normalised(text: string | undefined): string | undefined {
  return text?.trim().toLowerCase();
}
