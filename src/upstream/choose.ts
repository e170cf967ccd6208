/**
 * Puts the channels of a model in the order in which a call tries them. Pure: the random source is
 * handed in.
 */
import { dearestUnit, type Price } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';

/**
 * The channels whose price restriction admits the model, best priority first, within one priority
 * drawn by weight without putting back. A weight of 0 takes no calls.
 */
export function channelOrder(
  channels: readonly Channel[],
  price: Price,
  random: () => number,
): readonly Channel[] {
  const unit = dearestUnit(price);
  const open = channels.filter(
    ({ weight, maxPriceNanos }) =>
      weight > 0 && (maxPriceNanos === undefined || unit <= maxPriceNanos),
  );
  // The common case: one channel, nothing to draw.
  if (open.length < 2) return open;
  const priorities = [...new Set(open.map(({ priority }) => priority))].sort((a, b) => a - b);
  return priorities.flatMap((priority) =>
    drawn(
      open.filter((channel) => channel.priority === priority),
      random,
    ),
  );
}

function drawn(channels: readonly Channel[], random: () => number): readonly Channel[] {
  const left = [...channels];
  const order: Channel[] = [];
  while (left.length > 0) {
    let mark = random() * left.reduce((sum, { weight }) => sum + weight, 0);
    const picked = left.findIndex(({ weight }) => {
      mark -= weight;
      return mark < 0;
    });
    order.push(...left.splice(Math.max(0, picked), 1));
  }
  return order;
}
