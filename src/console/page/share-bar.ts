/** Bars inside tables: a share, and a quota with what is used and held. */
import { el } from './dom.ts';
import { moneyText, percentText, shareOf } from './format.ts';

/** A bar whose length is a share, 0 to 1. */
export function shareBar(share: number, color: string): HTMLElement {
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, part(share, `fill${color}`));
}

export function shareCell(share: number, color: string): HTMLElement {
  const percent = el('span', { class: 'percent' }, `${Math.round(share * 100)} %`);
  return el('span', { class: 'shared' }, shareBar(share, color), percent);
}

/** A key needs attention if it has used this share of its limit. */
export const nearlyOut = 0.9;

export interface QuotaAmounts {
  readonly usedNanos: string;
  readonly heldNanos: string;
  readonly limitNanos: string;
}

/** How full a quota is, 0 to 1. */
export function fullnessOf({ usedNanos, heldNanos, limitNanos }: QuotaAmounts): number {
  return shareOf(BigInt(usedNanos) + BigInt(heldNanos), limitNanos);
}

export function quotaBar(amounts: QuotaAmounts): HTMLElement {
  const { usedNanos, heldNanos, limitNanos } = amounts;
  const fullness = fullnessOf(amounts);
  const level = fullness >= 1 ? 'out' : fullness >= nearlyOut ? 'near' : 'well';
  const used = shareOf(usedNanos, limitNanos);
  const label =
    `${percentText(fullness)} of ${moneyText(limitNanos)}: ` +
    `${moneyText(usedNanos)} used, ${moneyText(heldNanos)} held`;
  return el(
    'span',
    { class: `bar quota ${level}`, role: 'img', 'aria-label': label, title: label },
    [part(used, 'fill-used'), part(Math.max(0, fullness - used), 'fill-held')],
  );
}

function part(share: number, name: string): HTMLElement {
  const node = el('span', { class: name });
  node.style.width = `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`;
  return node;
}
