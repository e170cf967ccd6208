/**
 * Reads a vendor's reasoning in all of its forms, without repeating reasoning that was sent in
 * several.
 */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { TextEvent } from '../../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../../json.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** Reads the reasoning of one choice. */
export interface ReasoningReader {
  /** Reads the reasoning in a message or a delta. */
  read(message: JsonValue): readonly TextEvent<'reasoning'>[];
}

/**
 * Creates the reader of one choice. Once reasoning has come as plain text, the texts of the details
 * are ignored, because they repeat it.
 */
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

/** Anthropic's data can be sent to Anthropic; any other detail can only be sent back as it is. */
function providerDataOf(detail: JsonValue): ProviderData | undefined {
  const signature = stringOrEmpty(member(detail, 'signature'));
  const encrypted = stringOrEmpty(member(detail, 'data'));
  if (signature === '' && encrypted === '') return undefined;
  const kind = signature === '' ? 'encrypted' : 'signature';
  return stringOrEmpty(member(detail, 'format')).startsWith('anthropic')
    ? { provider: 'anthropic', kind, data: signature || encrypted }
    : { provider: 'openai', kind, data: jsonText(detail) };
}
