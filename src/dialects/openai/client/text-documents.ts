/** Writes documents that are only text as text: OpenAI accepts files of other kinds only. */
import type { ContentRequest, Part, TextPart } from '../../../canonical/request.ts';

/** Replaces such documents, and lists them as replaced. */
export function withTextDocuments(request: ContentRequest): ContentRequest {
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
