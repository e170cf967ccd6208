/** Writes the parts of a candidate as JSON text, in the order of their events. */

import { seal, sealReasoning } from '../../../canonical/envelope.ts';
import { mimeTypeOfName } from '../../../canonical/media.ts';
import type { HiddenReasoning, ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ToolCallBegin } from '../../../canonical/reply.ts';

/** Visible text, which includes refusals, or a thought. */
export type TextKind = 'visible' | 'thought';

/** The parts that are to be written. */
export interface PartList {
  /** Appends the text to the previous part if that is text of the same kind. */
  addText(text: string, kind: TextKind, providerData: ProviderData | undefined): void;
  /** Adds a part other than text, with a member such as {@link functionCall} writes. */
  add(member: string, providerData: ProviderData | undefined): void;
  /** Adds hidden reasoning: an empty part with a signature, which Google's clients send back. */
  addHidden(hidden: HiddenReasoning): void;
  isEmpty(): boolean;
  /** Returns and clears the elements of `parts`. */
  take(): string;
}

/** Creates the list of one candidate. */
export function partList(): PartList {
  let parts: string[] = [];
  let openText: { readonly kind: TextKind; text: string } | undefined;

  const close = (providerData: ProviderData | undefined): void => {
    if (openText !== undefined) parts.push(textPart(openText.text, openText.kind, providerData));
    openText = undefined;
  };

  return {
    addText: (text, kind, providerData) => {
      // Encrypted reasoning needs a separate part, because its data would otherwise be taken for
      // the signature of the text before it.
      const joins = openText?.kind === kind && providerData?.kind !== 'encrypted';
      if (!joins) close(undefined);
      if (openText !== undefined) openText.text += text;
      else if (text !== '' || providerData !== undefined) openText = { kind, text };
      if (providerData !== undefined) close(providerData);
    },
    add: (member, providerData) => {
      close(undefined);
      parts.push(`{${member}${signature(providerData)}}`);
    },
    addHidden: (hidden) => {
      close(undefined);
      const { providerData } = hidden;
      const data = providerData?.provider === 'gemini' ? providerData.data : sealReasoning(hidden);
      parts.push(`{"text":"","thoughtSignature":${quoted(data)}}`);
    },
    isEmpty: () => openText === undefined && parts.length === 0,
    take: () => {
      close(undefined);
      const text = parts.join(',');
      parts = [];
      return text;
    },
  };
}

/** Writes a part with text or a thought. */
export function textPart(
  text: string,
  kind: TextKind,
  providerData: ProviderData | undefined,
): string {
  const thought = kind === 'thought' ? ',"thought":true' : '';
  return `{"text":${quoted(text)}${thought}${signature(providerData)}}`;
}

/**
 * Writes the member of a call. Line breaks between the tokens of the upstream's arguments become
 * spaces, because an event must be a single line.
 */
export function functionCall({ id, name }: ToolCallBegin, args: string): string {
  const line = args.replace(/[\r\n]+/g, ' ');
  const names = `"id":${quoted(id)},"name":${quoted(name)}`;
  return `"functionCall":{${names},"args":${line}}`;
}

/** Writes the member of an image or audio clip. */
export function inlineData(mimeType: string, data: string): string {
  return `"inlineData":{"mimeType":${quoted(mimeType)},"data":${quoted(data)}}`;
}

/** Writes the member of an image given by its URL. */
export function fileData(url: string): string {
  const mimeType = mimeTypeOfName(url) ?? 'image/png';
  return `"fileData":${jsonText({ mimeType, fileUri: url })}`;
}

/**
 * Google's clients echo signatures without reading them, so that they can carry other providers'
 * data.
 */
function signature(providerData: ProviderData | undefined): string {
  if (providerData === undefined) return '';
  const data = providerData.provider === 'gemini' ? providerData.data : seal(providerData);
  return `,"thoughtSignature":${quoted(data)}`;
}
