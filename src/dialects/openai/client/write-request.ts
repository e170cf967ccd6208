/** Writes a request of the common form as the body of a chat completion. */

import { withoutCustomTools } from '../../../canonical/custom-tools.ts';
import { type FunctionNames, functionNames } from '../../../canonical/function-names.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import {
  type ContentRequest,
  namesOfFunctions,
  type Part,
  type ProviderMember,
  type TextPart,
  type Tool,
} from '../../../canonical/request.ts';
import type { UpstreamTarget } from '../../codec.ts';
import { notPortable } from '../../not-portable.ts';
import { droppedPiece, emptyPiece, membersPiece, mergePieces, type Piece } from './piece.ts';
import { messagesOf } from './write-messages.ts';
import { formatPiece, nameRule, reasoningPiece, samplingPiece } from './write-settings.ts';
import { toolsPiece } from './write-tools.ts';

export function writeRequest(
  sent: ContentRequest,
  target: UpstreamTarget,
): { readonly body: string; readonly dropped: readonly string[]; readonly names: FunctionNames } {
  const flags = target.capabilities;
  const request = withTextDocuments(flags.customTools ? sent : withoutCustomTools(sent));
  const names = functionNames([...new Set(namesOfFunctions(request))], nameRule);
  const context = { flags, names, customNames: customNamesIn(request) };
  const format = formatPiece(request, flags);
  const { messages, dropped } = messagesOf(request, format.hints, context);
  const whole = mergePieces([
    { members: {}, dropped: request.dropped },
    mergePieces(request.providerMembers.map(ownPiece)),
    { members: { model: target.upstreamModel, messages }, dropped },
    streamPiece(request, target),
    toolsPiece(request, context),
    format,
    samplingPiece(request, flags),
    reasoningPiece(request, flags),
  ]);
  return { body: jsonText(whole.members), dropped: whole.dropped, names };
}

function customNamesIn({ tools }: ContentRequest): ReadonlySet<string> {
  const isCustom = (tool: Tool): boolean => tool.kind === 'function' && tool.custom !== undefined;
  return new Set(tools.filter(isCustom).map(({ name }) => name));
}

function ownPiece({ provider, name, value, at, vital }: ProviderMember): Piece {
  if (provider === 'openai') return membersPiece({ [name]: value });
  if (!vital) return droppedPiece(at);
  throw notPortable(at, 'This model does not support this member. Leave it out.');
}

function streamPiece({ streamed }: ContentRequest, { capabilities }: UpstreamTarget): Piece {
  if (!streamed) return emptyPiece;
  const usage = capabilities.includeUsage ? { stream_options: { include_usage: true } } : {};
  return membersPiece({ stream: true, ...usage });
}

/** Writes documents that are only text as text: OpenAI accepts files of other kinds only. */
function withTextDocuments(request: ContentRequest): ContentRequest {
  const replaced: string[] = [];
  const asText = <Kept extends Part>(part: Kept): Kept | TextPart => {
    const text = textOf(part);
    if (text === undefined) return part;
    replaced.push(part.at);
    return { kind: 'text', at: part.at, text, cacheControl: part.cacheControl };
  };
  const turns = request.turns.map((turn) => {
    if (!turn.parts.some(holdsTextDocument)) return turn;
    const parts = turn.parts.map((part) =>
      part.kind === 'tool_result' ? { ...part, content: part.content.map(asText) } : asText(part),
    );
    return { ...turn, parts };
  });
  if (replaced.length === 0) return request;
  return { ...request, turns, dropped: [...request.dropped, ...replaced] };
}

function holdsTextDocument(part: Part): boolean {
  const parts: readonly Part[] = part.kind === 'tool_result' ? part.content : [part];
  return parts.some((one) => textOf(one) !== undefined);
}

function textOf(part: Part): string | undefined {
  return part.kind === 'media' ? part.text : undefined;
}
