/** The parts of a candidate as JSON text, in the order of their events. */

import { mimeTypeOfName } from '../../../canonical/media.ts';
import {
  type HiddenReasoning,
  type ProviderData,
  seal,
  sealReasoning,
} from '../../../canonical/provider-data.ts';
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ToolCallBegin } from '../../../canonical/reply.ts';

/** Visible text, the model's refusals among it, or thought. */
export type TextKind = 'visible' | 'thought';

/** Parts that wait to be written. */
export interface PartList {
  /** Text joins the text of its kind directly before it. */
  addText(text: string, kind: TextKind, providerData: ProviderData | undefined): void;
  /** A part that is something else than text; as {@link functionCall} and the like write it. */
  add(member: string, providerData: ProviderData | undefined): void;
  /** Reasoning that is not shown: an empty part, whose signature Google's clients send back. */
  addHidden(hidden: HiddenReasoning): void;
  isEmpty(): boolean;
  /** The elements of `parts`, which are gone from here then. */
  take(): string;
}

/** A fresh one for each candidate. */
export function partList(): PartList {
  let parts: string[] = [];
  let open: { readonly kind: TextKind; text: string } | undefined;

  const close = (providerData: ProviderData | undefined): void => {
    if (open !== undefined) parts.push(textPart(open.text, open.kind, providerData));
    open = undefined;
  };

  return {
    addText: (text, kind, providerData) => {
      // A thought that is hidden is a part of its own; a signature vouches for the text before it.
      const joins = open?.kind === kind && providerData?.kind !== 'encrypted';
      if (!joins) close(undefined);
      if (open !== undefined) open.text += text;
      else if (text !== '' || providerData !== undefined) open = { kind, text };
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
    isEmpty: () => open === undefined && parts.length === 0,
    take: () => {
      close(undefined);
      const text = parts.join(',');
      parts = [];
      return text;
    },
  };
}

/** A part of text or of thought. */
export function textPart(
  text: string,
  kind: TextKind,
  providerData: ProviderData | undefined,
): string {
  const thought = kind === 'thought' ? ',"thought":true' : '';
  return `{"text":${quoted(text)}${thought}${signature(providerData)}}`;
}

/**
 * The member of a call whose arguments are JSON text. The white space between an upstream's tokens
 * may hold line ends, which an event must not.
 */
export function functionCall({ id, name }: ToolCallBegin, args: string): string {
  const line = args.replace(/[\r\n]+/g, ' ');
  const names = `"id":${quoted(id)},"name":${quoted(name)}`;
  return `"functionCall":{${names},"args":${line}}`;
}

/** The member of an image or a sound. */
export function inlineData(mimeType: string, data: string): string {
  return `"inlineData":{"mimeType":${quoted(mimeType)},"data":${quoted(data)}}`;
}

/** The member of an image that lies at an address. */
export function fileData(url: string): string {
  const mimeType = mimeTypeOfName(url) ?? 'image/png';
  return `"fileData":${jsonText({ mimeType, fileUri: url })}`;
}

/** Google's clients echo it unseen, so other providers' data can ride in it (TRANSLATION §6.9). */
function signature(providerData: ProviderData | undefined): string {
  if (providerData === undefined) return '';
  const data = providerData.provider === 'gemini' ? providerData.data : seal(providerData);
  return `,"thoughtSignature":${quoted(data)}`;
}
