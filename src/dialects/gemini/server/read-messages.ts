/** Reads the conversation and the system instruction of a native request. */

import { checkMessageCount } from '../../../canonical/complexity.ts';
import type { TextPart, Turn } from '../../../canonical/request.ts';
import { isJsonObject, items, type JsonValue } from '../../../json.ts';
import { notPortable } from '../../not-portable.ts';
import { refuse } from '../../read-members.ts';
import { type Drop, dropUnknown, field, listField, textField } from './fields.ts';
import { type DraftPart, type DraftTurn, pairCalls } from './pair-calls.ts';
import { readPart } from './read-parts.ts';

export function readContents(body: JsonValue, drop: Drop): readonly Turn[] {
  const contents = listField(body, 'contents', '');
  checkMessageCount(contents.length, 'contents');
  const drafts = contents.flatMap((content, index) => readContent(content, index, drop));
  if (drafts.length === 0) {
    refuse('contents', 'is empty. Send [{"role":"user","parts":[{"text":"…"}]}].');
  }
  return pairCalls(drafts, drop);
}

/**
 * Reads `systemInstruction`, which may be a content, a list of parts, a single part, or a string.
 * Its role is ignored.
 */
export function readSystem(body: JsonValue, drop: Drop): readonly TextPart[] {
  const sent = field(body, 'systemInstruction');
  if (sent === undefined) return [];
  const at = 'systemInstruction';
  if (typeof sent === 'string') return sent === '' ? [] : [{ kind: 'text', at, text: sent }];
  return partsOf(sent, at, drop).flatMap(({ value, path }) => systemPart(value, path, drop));
}

function systemPart(value: JsonValue, at: string, drop: Drop): readonly TextPart[] {
  if (typeof value === 'string') return [{ kind: 'text', at, text: value }];
  const part = readPart(value, { at, position: [0, 0], drop });
  if (part?.kind === 'text') return part.text === '' ? [] : [part];
  if (part === undefined) return [];
  throw notPortable(at, 'A system instruction can only be text. Send this part in `contents`.');
}

function partsOf(
  sent: JsonValue,
  at: string,
  drop: Drop,
): readonly { readonly value: JsonValue; readonly path: string }[] {
  if (Array.isArray(sent)) {
    return items(sent).map((value, index) => ({ value, path: `${at}[${index}]` }));
  }
  if (!isJsonObject(sent)) return refuse(at, 'must be a content with `parts`, or a string.');
  if (field(sent, 'text') !== undefined) return [{ value: sent, path: at }];
  dropUnknown(sent, ['role', 'parts'], { at, drop });
  return listField(sent, 'parts', at).map((value, index) => ({
    value,
    path: `${at}.parts[${index}]`,
  }));
}

/** Splits a content into several turns if its parts belong to both the user and the model. */
function readContent(content: JsonValue, index: number, drop: Drop): readonly DraftTurn[] {
  const at = `contents[${index}]`;
  if (!isJsonObject(content)) return refuse(at, 'must be an object with `parts`.');
  dropUnknown(content, ['role', 'parts'], { at, drop });
  const role = roleOf(content, at);
  const turns: { role: DraftTurn['role']; parts: DraftPart[] }[] = [];
  for (const [number, value] of listField(content, 'parts', at).entries()) {
    const path = `${at}.parts[${number}]`;
    const part = readPart(value, { at: path, position: [index, number], drop });
    if (part === undefined) continue;
    const side = roleOfPart(part, role);
    const last = turns.at(-1);
    if (last?.role === side) last.parts.push(part);
    else turns.push({ role: side, parts: [part] });
  }
  return turns;
}

function roleOf(content: JsonValue, at: string): DraftTurn['role'] {
  const role = textField(content, 'role', at) ?? '';
  if (role === 'model') return 'assistant';
  // `function` has only results, which always belong to the user's side.
  if (role === 'user' || role === 'function' || role === '') return 'user';
  return refuse(`${at}.role`, 'must be "user" or "model".');
}

function roleOfPart({ kind }: DraftPart, role: DraftTurn['role']): DraftTurn['role'] {
  if (kind === 'tool_result') return 'user';
  return kind === 'tool_call' || kind === 'reasoning' ? 'assistant' : role;
}
