/** A vendor's thoughts in any of their forms, each told once (TRANSLATION §6.9). */

import type { Opaque } from '../../../canonical/opaque.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { TextEvent } from '../../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../../json.ts';
import { words } from './words.ts';

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
        words(member(message, 'reasoning_content')) || words(member(message, 'reasoning'));
      isPlain ||= plain !== '';
      const details = items(member(message, 'reasoning_details'));
      if (plain === '' && details.length === 0) return [];
      const told = details.map((detail) => ({
        text: isPlain ? '' : textOf(detail),
        opaque: opaqueOf(detail),
      }));
      return [{ text: plain, opaque: undefined }, ...told]
        .filter(({ text, opaque }) => text !== '' || opaque !== undefined)
        .map((piece) => ({ type: 'reasoning', choice, ...piece }));
    },
  };
}

function textOf(detail: JsonValue): string {
  return words(member(detail, 'text')) || words(member(detail, 'summary'));
}

/** Anthropic's own data is fit for Anthropic; the rest goes back as the detail that it is. */
function opaqueOf(detail: JsonValue): Opaque | undefined {
  const signature = words(member(detail, 'signature'));
  const hidden = words(member(detail, 'data'));
  if (signature === '' && hidden === '') return undefined;
  const kind = signature === '' ? 'encrypted' : 'signature';
  return words(member(detail, 'format')).startsWith('anthropic')
    ? { provider: 'anthropic', kind, data: signature || hidden }
    : { provider: 'openai', kind, data: jsonText(detail) };
}
