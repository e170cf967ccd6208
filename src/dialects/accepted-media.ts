/**
 * Refuses media that a provider does not accept before anything is sent: its own refusal comes late
 * and rarely says which part it means.
 */

import { isKnownMimeType, mediaKindOf } from '../canonical/media.ts';
import type { MediaPart } from '../canonical/request.ts';
import type { ResolvedCapabilities } from './capabilities.ts';
import { notPortable } from './not-portable.ts';

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
