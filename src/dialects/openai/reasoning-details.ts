/** OpenRouter's `reasoning_details`, which replies contain and callers send back. */
import type { ProviderData } from '../../canonical/provider-data.ts';
import type { JsonValue } from '../../json.ts';
import { reads, type Shape } from '../unread.ts';
import type { Piece } from './server/choice-sink.ts';

export const reasoningDetail: Shape = {
  ...reads('type', 'id', 'index', 'format', 'text', 'summary', 'signature', 'data'),
};

/** Writes reasoning with its provider data in OpenRouter's form. */
export function writtenDetail({ provider, kind, data }: ProviderData, text: string): Piece {
  const format = formats.get(provider) ?? unknownFormat;
  return kind === 'encrypted'
    ? { type: 'reasoning.encrypted', data, format }
    : { type: 'reasoning.text', text, signature: data, format };
}

const unknownFormat = 'openai-responses-v1';
const formats: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic-claude-v1'],
  ['gemini', 'google-gemini-v1'],
]);

export function providerOfFormat(format: JsonValue | undefined): string {
  const [family] = typeof format === 'string' ? format.split('-', 1) : [];
  if (family === 'anthropic') return family;
  return family === 'google' ? 'gemini' : 'openai';
}
