/** Refuses what a translated request has and its upstream lacks. */

import { isKnownMimeType, mediaKindOf } from '../canonical/media.ts';
import type { ContentRequest, MediaPart } from '../canonical/request.ts';
import { GatewayError } from '../errors.ts';
import type { ResolvedCapabilities } from './capabilities.ts';

export function notPortable(param: string | undefined, message: string): GatewayError {
  return new GatewayError('not_portable', message, param === undefined ? {} : { param });
}

export function storedElsewhere(param: string): GatewayError {
  return notPortable(
    param,
    'This model cannot read files stored at another provider. Send the bytes.',
  );
}

/**
 * Everything was left out: blank texts, or reasoning that only another provider can read. No
 * upstream accepts a conversation without a message.
 */
export function nothingToSend({ turns }: ContentRequest): GatewayError {
  const at = turns.flatMap(({ parts }) => parts).at(0)?.at;
  return notPortable(
    at,
    'No message has content that this model accepts. Send one that is not blank.',
  );
}

type MediaKind = ReturnType<typeof mediaKindOf>;

/** What a provider accepts. Types of a kind that is left out are for the provider to judge. */
export type AcceptedMedia = Readonly<Partial<Record<MediaKind, AcceptedTypes>>>;

interface AcceptedTypes {
  /** Tested with the type in lower case, without parameters. */
  readonly types: RegExp;
  /** What the caller can send instead, for the error message. */
  readonly names: string;
}

export function checkMediaKind(
  part: MediaPart,
  kind: MediaKind,
  { mediaInput }: ResolvedCapabilities,
): void {
  if (mediaInput.includes(kind)) return;
  throw notPortable(part.at, `This model does not accept ${kind} input. Leave the part out.`);
}

export function checkMediaType(part: MediaPart, mimeType: string, accepted: AcceptedMedia): void {
  const kind = mediaKindOf(mimeType);
  const type = mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const row = accepted[kind];
  if (row === undefined || row.types.test(type)) return;
  const named = isKnownMimeType(type) ? type : `this type of ${kind}`;
  throw notPortable(part.at, `This model does not accept ${named}. Send ${row.names}.`);
}
