/** Writes the conversation as OpenAI's messages, in the caller's order. */
import { cacheMarksIn, everyPart, unsentProviderData } from '../../../canonical/every-part.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { ContentRequest, Part, TextPart, Turn } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import { nothingToSend } from '../../nothing-to-send.ts';
import { contentOf, type Messages, textNode } from './message.ts';
import type { Members } from './piece.ts';
import { assistantMessages } from './write-assistant.ts';
import { sendsProviderData } from './write-details.ts';
import { droppedMediaMembers, mediaNode } from './write-media.ts';
import { toolMessages } from './write-results.ts';
import type { ToolContext } from './write-tools.ts';

/** Writes every message; the hints are appended to the system message. */
export function messagesOf(
  request: ContentRequest,
  hints: readonly string[],
  context: ToolContext,
): Messages {
  refusePrefill(request, context);
  const { flags } = context;
  const movesToSystem = ({ role }: Turn) => role === 'system' && flags.midSystem === 'lift';
  const movedTexts = request.turns
    .filter(movesToSystem)
    .flatMap(({ parts }) => parts.filter(isText));
  const system = [...request.system, ...movedTexts].map(({ text }) => text).concat(hints);
  const turns = request.turns.filter((turn) => !movesToSystem(turn));
  const written = runsOf(turns).map((run) => runMessages(run, context));
  const turnMessages = written.flatMap((piece) => piece.messages);
  const messages = flags.systemInstruction
    ? withSystemMessage(system, turnMessages)
    : withSystemInUserMessage(system, turnMessages);
  if (messages.length === 0) throw nothingToSend(request);
  return {
    messages,
    dropped: [
      ...written.flatMap(({ dropped }) => dropped),
      ...cacheMarksIn(request),
      ...unsentProviderData(request, (data, part) => sendsProviderData(data, part, flags)),
      ...everyPart(request).flatMap(droppedOf),
    ],
  };
}

function refusePrefill({ turns }: ContentRequest, { flags }: ToolContext): void {
  const last = turns.at(-1);
  if (flags.prefill || last?.role !== 'assistant') return;
  const message = 'This model does not continue an assistant message. End with a user message.';
  const param = last.parts[0]?.at;
  throw new GatewayError('not_portable', message, param === undefined ? {} : { param });
}

function isText(part: Part): part is TextPart {
  return part.kind === 'text';
}

/**
 * Groups consecutive turns of the same role, as `joinedTurns` does, because some SDKs split one
 * turn into several. Every user message stays a separate message, and an instruction is a group by
 * itself.
 */
function runsOf(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const runs: Turn[][] = [];
  for (const turn of turns) {
    const last = runs.at(-1);
    if (turn.role !== 'system' && last?.[0]?.role === turn.role) last.push(turn);
    else runs.push([turn]);
  }
  return runs;
}

function runMessages(run: readonly Turn[], context: ToolContext): Messages {
  const [first] = run;
  if (first?.role === 'assistant') {
    return assistantMessages({ ...first, parts: run.flatMap(({ parts }) => parts) }, context);
  }
  if (first?.role === 'system') {
    return { messages: textMessage('system', first.parts.filter(isText)), dropped: [] };
  }
  const results = run.flatMap(({ parts }) => parts.filter((part) => part.kind === 'tool_result'));
  return {
    messages: [
      ...toolMessages(results, context.flags),
      ...run.flatMap((turn) => userMessage(turn, context)),
    ],
    dropped: run.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'reasoning' && part.text !== '' ? [part.at] : [])),
    ),
  };
}

function textMessage(role: string, parts: readonly { readonly text: string }[]): Members[] {
  const texts = parts.map(({ text }) => text);
  if (texts.length === 0) return [];
  return [{ role, content: contentOf(texts.map(textNode), texts) }];
}

function userMessage({ parts }: Turn, { flags }: ToolContext): Members[] {
  const nodes: JsonNode[] = [];
  const texts: string[] = [];
  for (const part of parts) {
    if (part.kind === 'tool_call') throw misplacedCall(part.at);
    if (part.kind === 'media') nodes.push(mediaNode(part, flags));
    if (part.kind !== 'text') continue;
    texts.push(part.text);
    nodes.push(textNode(part.text));
  }
  if (nodes.length > 0) return [{ role: 'user', content: contentOf(nodes, texts) }];
  return parts.length === 0 ? [{ role: 'user', content: '' }] : [];
}

function misplacedCall(at: string): GatewayError {
  const message = 'A user message contains a function call, but only the model makes calls.';
  return new GatewayError('not_portable', message, { param: at });
}

function withSystemMessage(
  system: readonly string[],
  messages: readonly Members[],
): readonly Members[] {
  const parts = system.map((text) => ({ text }));
  return [...textMessage('system', parts), ...messages];
}

/**
 * For models without a system message, the instructions become the beginning of the first user
 * message.
 */
function withSystemInUserMessage(
  system: readonly string[],
  messages: readonly Members[],
): readonly Members[] {
  if (system.length === 0) return messages;
  const [first, ...others] = messages;
  const head = system.map(textNode);
  if (first?.role !== 'user') {
    return [{ role: 'user', content: contentOf(head, system) }, ...messages];
  }
  const { content } = first;
  const rest = typeof content === 'string' ? [textNode(content)] : listOf(content);
  return [{ role: 'user', content: [...head, ...rest] }, ...others];
}

function listOf(content: JsonNode): readonly JsonNode[] {
  return Array.isArray(content) ? content : [];
}

/** Lists what OpenAI does not support: parts of other providers, and some members of media. */
function droppedOf(part: Part): readonly string[] {
  if (part.kind === 'provider_specific') return [part.at];
  return part.kind === 'media' ? droppedMediaMembers(part) : [];
}
