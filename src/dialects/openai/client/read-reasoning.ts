/** A vendor's thoughts in any of their forms, each told once (TRANSLATION §6.9). */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { TextEvent } from '../../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../../json.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** Reads the thoughts of one choice. */
export interface ReasoningReader {
  /** The thoughts in a message or in one delta of it. */
  read(message: JsonValue): readonly TextEvent<'reasoning'>[];
}

/** For one choice: what was told as plain text is not told again from the details. */
export function reasoningReader(choice: number): ReasoningReader {
  let isPlain = false;
  return {
    read: (message) => {
      const plain =
        stringOrEmpty(member(message, 'reasoning_content')) ||
        stringOrEmpty(member(message, 'reasoning'));
      isPlain ||= plain !== '';
      const details = items(member(message, 'reasoning_details'));
      if (plain === '' && details.length === 0) return [];
      const detailPieces = details.map((detail) => ({
        text: isPlain ? '' : textOf(detail),
        providerData: providerDataOf(detail),
      }));
      return [{ text: plain, providerData: undefined }, ...detailPieces]
        .filter(({ text, providerData }) => text !== '' || providerData !== undefined)
        .map((piece) => ({ type: 'reasoning', choice, ...piece }));
    },
  };
}

function textOf(detail: JsonValue): string {
  return stringOrEmpty(member(detail, 'text')) || stringOrEmpty(member(detail, 'summary'));
}

/** Anthropic's own data is fit for Anthropic; the rest goes back as the detail that it is. */
function providerDataOf(detail: JsonValue): ProviderData | undefined {
  const signature = stringOrEmpty(member(detail, 'signature'));
  const encrypted = stringOrEmpty(member(detail, 'data'));
  if (signature === '' && encrypted === '') return undefined;
  const kind = signature === '' ? 'encrypted' : 'signature';
  return stringOrEmpty(member(detail, 'format')).startsWith('anthropic')
    ? { provider: 'anthropic', kind, data: signature || encrypted }
    : { provider: 'openai', kind, data: jsonText(detail) };
}
