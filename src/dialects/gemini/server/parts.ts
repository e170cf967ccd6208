/** Writes the parts of a candidate as JSON text, in the order of their events. */

import { seal, sealReasoning } from '../../../canonical/envelope.ts';
import { mimeTypeOfName } from '../../../canonical/media.ts';
import type { HiddenReasoning, ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ToolCallBegin } from '../../../canonical/reply.ts';

/** Visible text, which includes refusals, or a thought. */
export type TextKind = 'visible' | 'thought';

export interface PartList {
  /** Appends the text to the previous part if that is text of the same kind. */
  addText(text: string, kind: TextKind, providerData: ProviderData | undefined): void;
  /** Adds a part other than text, with a member such as {@link functionCall} writes. */
  add(member: string, providerData: ProviderData | undefined): void;
  /** Adds hidden reasoning: an empty part with a signature, which Google's clients send back. */
  addHidden(hidden: HiddenReasoning): void;
  isEmpty(): boolean;
  take(): string;
}

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

export function textPart(
  text: string,
  kind: TextKind,
  providerData: ProviderData | undefined,
): string {
  const thought = kind === 'thought' ? ',"thought":true' : '';
  return `{"text":${quoted(text)}${thought}${signature(providerData)}}`;
}

/** Line breaks between the arguments' tokens become spaces: an event is a single line. */
export function functionCall({ id, name }: ToolCallBegin, args: string): string {
  const line = args.replace(/[\r\n]+/g, ' ');
  const names = `"id":${quoted(id)},"name":${quoted(name)}`;
  return `"functionCall":{${names},"args":${line}}`;
}

export function inlineData(mimeType: string, data: string): string {
  return `"inlineData":{"mimeType":${quoted(mimeType)},"data":${quoted(data)}}`;
}

export function fileData(url: string): string {
  const mimeType = mimeTypeOfName(url) ?? 'image/png';
  return `"fileData":${jsonText({ mimeType, fileUri: url })}`;
}

/** Google's clients echo signatures unread, so they can carry other providers' data. */
function signature(providerData: ProviderData | undefined): string {
  if (providerData === undefined) return '';
  const data = providerData.provider === 'gemini' ? providerData.data : seal(providerData);
  return `,"thoughtSignature":${quoted(data)}`;
}
