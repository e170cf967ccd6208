/** The parts of a candidate as JSON text, in the order of their events. */

import { mimeTypeOfName } from '../../../canonical/media.ts';
import {
  type HiddenReasoning,
  type Opaque,
  sealed,
  sealedReasoning,
} from '../../../canonical/opaque.ts';
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ToolCallBegin } from '../../../canonical/reply.ts';

/** Visible text, the model's refusals among it, or thought. */
export type TextKind = 'visible' | 'thought';

/** Parts that wait to be written. */
export interface PartList {
  /** Text joins the text of its kind directly before it. */
  addText(text: string, kind: TextKind, opaque: Opaque | undefined): void;
  /** A part that is something else than text; as {@link functionCall} and the like write it. */
  add(member: string, opaque: Opaque | undefined): void;
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

  const close = (opaque: Opaque | undefined): void => {
    if (open !== undefined) parts.push(textPart(open.text, open.kind, opaque));
    open = undefined;
  };

  return {
    addText: (text, kind, opaque) => {
      // A thought that is hidden is a part of its own; a signature vouches for the text before it.
      const joins = open?.kind === kind && opaque?.kind !== 'encrypted';
      if (!joins) close(undefined);
      if (open !== undefined) open.text += text;
      else if (text !== '' || opaque !== undefined) open = { kind, text };
      if (opaque !== undefined) close(opaque);
    },
    add: (member, opaque) => {
      close(undefined);
      parts.push(`{${member}${signature(opaque)}}`);
    },
    addHidden: (hidden) => {
      close(undefined);
      const { opaque } = hidden;
      const data = opaque?.provider === 'gemini' ? opaque.data : sealedReasoning(hidden);
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
export function textPart(text: string, kind: TextKind, opaque: Opaque | undefined): string {
  const thought = kind === 'thought' ? ',"thought":true' : '';
  return `{"text":${quoted(text)}${thought}${signature(opaque)}}`;
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
function signature(opaque: Opaque | undefined): string {
  if (opaque === undefined) return '';
  const data = opaque.provider === 'gemini' ? opaque.data : sealed(opaque);
  return `,"thoughtSignature":${quoted(data)}`;
}
