/**
 * Refuses media that the price of an embedding model has no rate for. Media cost several times as
 * much as text, and most such prices have a rate for text only.
 */
import type { Call, MediaKind } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import type { TokenRates } from '../../money.ts';
import type { Model } from '../../ports/catalog.ts';

/** The rates that cover each kind. A document is billed as images; a reference may be anything. */
const ratesOf: Readonly<Record<MediaKind, readonly (keyof TokenRates)[]>> = {
  image: ['imageInput'],
  audio: ['audioInput'],
  video: ['videoInput'],
  document: ['imageInput'],
  reference: ['imageInput', 'audioInput', 'videoInput'],
};

/** @throws GatewayError `invalid_request` that names the first part without a rate */
export function checkMediaRates({ demand }: Call, { price }: Model): void {
  if (price.per !== 'token') return;
  const { rates } = price;
  for (const { kind, at } of demand.prompt.media) {
    if (ratesOf[kind].every((name) => rates[name] !== undefined)) continue;
    throw new GatewayError(
      'invalid_request',
      `\`${at}\` is media for which this model has no price. Send text instead.`,
      { param: at, reason: 'media_not_priced' },
    );
  }
}
