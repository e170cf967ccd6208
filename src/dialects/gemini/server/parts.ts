/** Writes the parts of a candidate as JSON text, in the order of their events. */

import { seal, sealReasoning } from '../../../canonical/envelope.ts';
import { mimeTypeOfName } from '../../../canonical/media.ts';
import type { HiddenReasoning, ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ToolCallBegin } from '../../../canonical/reply.ts';

/** Visible text, which includes refusals, or a thought. */
export type TextKind = 'visible' | 'thought';

export class PartList {
  #parts: string[] = [];
  #openText: { readonly kind: TextKind; text: string } | undefined;

  /** Appends the text to the previous part if that is text of the same kind. */
  addText(text: string, kind: TextKind, providerData: ProviderData | undefined): void {
    // Encrypted reasoning needs a separate part, because its data would otherwise be taken for the
    // signature of the text before it.
    const joins = this.#openText?.kind === kind && providerData?.kind !== 'encrypted';
    if (!joins) this.#close(undefined);
    if (this.#openText !== undefined) this.#openText.text += text;
    else if (text !== '' || providerData !== undefined) this.#openText = { kind, text };
    if (providerData !== undefined) this.#close(providerData);
  }

  /** Adds a part other than text, with a member such as {@link functionCall} writes. */
  add(member: string, providerData: ProviderData | undefined): void {
    this.#close(undefined);
    this.#parts.push(`{${member}${signature(providerData)}}`);
  }

  /** Adds hidden reasoning: an empty part with a signature, which Google's clients send back. */
  addHidden(hidden: HiddenReasoning): void {
    this.#close(undefined);
    const { providerData } = hidden;
    const data = providerData?.provider === 'gemini' ? providerData.data : sealReasoning(hidden);
    this.#parts.push(`{"text":"","thoughtSignature":${quoted(data)}}`);
  }

  isEmpty(): boolean {
    return this.#openText === undefined && this.#parts.length === 0;
  }

  take(): string {
    this.#close(undefined);
    const text = this.#parts.join(',');
    this.#parts = [];
    return text;
  }

  #close(providerData: ProviderData | undefined): void {
    const open = this.#openText;
    if (open !== undefined) this.#parts.push(textPart(open.text, open.kind, providerData));
    this.#openText = undefined;
  }
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
