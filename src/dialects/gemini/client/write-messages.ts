/** Writes the conversation: the system instruction and the turns. */

import type { Part, TextPart, ToolResultPart, Turn } from '../../../canonical/request.ts';
import { pairedTurns } from '../../../canonical/tool-results.ts';
import { nothingToSend, notPortable } from '../../not-portable.ts';
import type { Members, WriteContext } from './write-context.ts';
import { writeMedia } from './write-media.ts';
import { signatureOf, writeCall, writeFirstCall, writeResults } from './write-results.ts';

export interface WrittenConversation {
  readonly systemInstruction: Members | undefined;
  readonly contents: readonly Content[];
}

type Content = { readonly role: 'user' | 'model'; readonly parts: readonly Members[] };

/** @param instructions instructions of the gateway, appended after the caller's */
export function writeConversation(
  context: WriteContext,
  instructions: readonly string[],
): WrittenConversation {
  checkPrefill(context);
  const { turns, dropped } = pairedTurns(context.request.turns);
  for (const name of dropped) context.drop(name);
  const lifted = turns.filter((turn) => isLifted(context, turn));
  const system = [
    ...context.request.system.map(({ text }) => text),
    ...lifted.flatMap(({ parts }) => parts.filter(isText).map(({ text }) => text)),
    ...instructions,
  ].filter((text) => text !== '');
  const contents = turns
    .filter((turn) => !isLifted(context, turn))
    .map((turn): Content => contentOf(context, turn))
    .filter(({ parts }) => parts.length > 0);
  const written = adaptedToModel(
    context,
    system.map((text): Members => ({ text })),
    contents,
  );
  if (written.contents.length === 0) throw nothingToSend(context.request);
  return written;
}

/** Gemini requires at least one user turn, and Gemma doesn't support a system instruction. */
function adaptedToModel(
  { capabilities }: WriteContext,
  system: readonly Members[],
  contents: readonly Content[],
): WrittenConversation {
  const kept = capabilities.systemInstruction ? system : [];
  const moved = capabilities.systemInstruction ? [] : system;
  if (contents.length === 0 && kept.length > 0) {
    const userTurn: Content = { role: 'user', parts: kept.slice(-1) };
    return { systemInstruction: instructionOf(kept.slice(0, -1)), contents: [userTurn] };
  }
  return { systemInstruction: instructionOf(kept), contents: prepended(moved, contents) };
}

function instructionOf(parts: readonly Members[]): Members | undefined {
  return parts.length === 0 ? undefined : { parts };
}

function prepended(parts: readonly Members[], contents: readonly Content[]): readonly Content[] {
  if (parts.length === 0) return contents;
  const [head, ...rest] = contents;
  // Extending the first turn is safe: a turn of function results may have no other parts, but it
  // never comes first.
  if (head?.role !== 'user') return [{ role: 'user', parts }, ...contents];
  return [{ role: 'user', parts: [...parts, ...head.parts] }, ...rest];
}

function checkPrefill({ capabilities, request }: WriteContext): void {
  const last = request.turns.at(-1);
  if (capabilities.prefill || last?.role !== 'assistant') return;
  throw notPortable(
    last.parts[0]?.at ?? 'messages',
    "This model can't continue an assistant message (prefill). End with a user message.",
  );
}

function isLifted({ capabilities }: WriteContext, { role, parts }: Turn): boolean {
  return role === 'system' && capabilities.midSystem === 'lift' && parts.every(isText);
}

function isText(part: Part): part is TextPart {
  return part.kind === 'text';
}

function contentOf(context: WriteContext, turn: Turn): Content {
  const role = turn.role === 'assistant' ? 'model' : 'user';
  const firstCall = turn.parts.find(({ kind }) => kind === 'tool_call');
  const results = turn.parts.filter((part): part is ToolResultPart => part.kind === 'tool_result');
  const parts = [
    ...writeResults(context, results),
    ...turn.parts
      .filter((part) => !isBlank(part))
      .flatMap((part) => writePart(context, part, { isFirstCall: part === firstCall })),
  ];
  // A message with only empty text is kept as one empty part; next to other parts, empty text is
  // left out.
  return { role, parts: parts.length === 0 && turn.parts.some(isBlank) ? [{ text: '' }] : parts };
}

function isBlank(part: Part): boolean {
  return part.kind === 'text' && part.text === '' && signatureOf(part.providerData) === undefined;
}

function writePart(
  context: WriteContext,
  part: Part,
  { isFirstCall }: { readonly isFirstCall: boolean },
): readonly Members[] {
  const thoughtSignature = signatureOf(part.providerData);
  switch (part.kind) {
    case 'text':
      return [{ text: part.text, thoughtSignature }];
    case 'reasoning':
      if (thoughtSignature !== undefined) {
        return [{ text: part.text, thought: true, thoughtSignature }];
      }
      // Gemini would treat another model's reasoning as its own.
      if (!part.displayOnly) context.drop(part.at);
      return [];
    case 'media':
      return [{ ...writeMedia(context, part), thoughtSignature }];
    case 'tool_call':
      return [isFirstCall ? writeFirstCall(context, part) : writeCall(context, part)];
    case 'tool_result':
      return [];
    case 'provider_specific':
      if (part.provider === 'gemini') return [part.value];
      context.drop(part.at);
      return [];
  }
}
