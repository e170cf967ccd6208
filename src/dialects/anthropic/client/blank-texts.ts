/**
 * Anthropic refuses blocks of blank text. A blank piece between texts, such as the line break of a
 * program that was streamed in pieces, becomes the end of the text before it or the beginning of
 * the text after it.
 */
import type { Part, TextPart } from '../../../canonical/request.ts';

/**
 * The parts of one turn, system prompt or result, with each blank text joined to the text beside
 * it, else to the last one before it. A blank text without one before it is left: Anthropic's own
 * replies have such texts in front of thinking.
 */
export function withBlanksJoined<P extends Part>(parts: readonly P[]): readonly P[] {
  if (!parts.some(isBlankText)) return parts;
  const joined: P[] = [];
  let waiting: (TextPart & P) | undefined;
  let last: { readonly part: P & TextPart; readonly at: number } | undefined;
  const place = (): void => {
    if (waiting === undefined) return;
    if (last === undefined) joined.push(waiting);
    else {
      const part = withText(last.part, last.part.text + waiting.text, waiting);
      joined[last.at] = part;
      last = { part, at: last.at };
    }
    waiting = undefined;
  };
  for (const part of parts) {
    if (!isText(part)) {
      place();
      joined.push(part);
    } else if (isBlankText(part)) {
      waiting = waiting === undefined ? part : withText(part, waiting.text + part.text, waiting);
    } else {
      const text = waiting === undefined ? part : withText(part, waiting.text + part.text, waiting);
      waiting = undefined;
      last = { part: text, at: joined.length };
      joined.push(text);
    }
  }
  place();
  return joined;
}

/** Whether the API would refuse a block of this part. */
export function isBlankText(part: Part): boolean {
  return part.kind === 'text' && part.text.trim() === '';
}

function isText<P extends Part>(part: P): part is P & TextPart {
  return part.kind === 'text';
}

function withText<P extends Part>(part: P, text: string, blank: TextPart): P {
  return { ...part, text, cacheControl: part.cacheControl ?? blank.cacheControl };
}
