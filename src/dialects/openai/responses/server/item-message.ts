/** Writes a message item: one part of visible text, or one of refusal. */
import { jsonText, oneLine, quoted, quotedLine } from '../../../../canonical/raw-json.ts';
import type { Citation, TokenLogprob } from '../../../../canonical/reply.ts';
import { logprobPieces } from '../../server/logprobs.ts';
import { addItem, endItem, type ItemPlace, type ItemStatus } from './item-place.ts';

export interface OpenMessage {
  add(text: string): void;
  /** Writes the last events of the message, and returns it as JSON text. */
  end(status: ItemStatus): string;
  /** Returns the message as it is so far, as an incomplete item. */
  unfinished(): string;
}

export interface OpenText extends OpenMessage {
  /** Adds logprobs; they go out with the next delta. */
  addTokens(tokens: readonly TokenLogprob[]): void;
  /** Adds a source, whose offsets count from the beginning of this text. */
  cite(citation: Citation): void;
}

interface TextState {
  text: string;
  /** Each as JSON text. */
  readonly annotations: string[];
  readonly logprobs: string[];
  /** Logprobs that no delta has carried yet. */
  fresh: string[];
}

export function openText(place: ItemPlace): OpenText {
  const { log } = place;
  const state: TextState = { text: '', annotations: [], logprobs: [], fresh: [] };
  const at = beginMessage(place, textPart('""', state));
  const delta = log.repeated('response.output_text.delta', `${at},"logprobs":[]`);
  return {
    add: (more) => {
      state.text += more;
      if (state.fresh.length === 0) return delta(more);
      const tokens = `"logprobs":[${state.fresh.join(',')}]`;
      state.fresh = [];
      log.add('response.output_text.delta', `${at},${tokens},"delta":${quotedLine(more)}`);
    },
    addTokens: (tokens) => addTokens(state, tokens),
    cite: (citation) => {
      const annotation = annotationText(citation, state.text.length);
      const index = state.annotations.push(annotation) - 1;
      const members = `"annotation_index":${index},"annotation":${annotation}`;
      log.add('response.output_text.annotation.added', `${at},${members}`);
    },
    end: (status) => {
      const json = quotedLine(state.text);
      const logprobs = `"logprobs":[${state.logprobs.join(',')}]`;
      log.add('response.output_text.done', `${at},"text":${json},${logprobs}`);
      return endMessage(place, { at, whole: textPart(json, state), status });
    },
    unfinished: () => messageText(place, textPart(quotedLine(state.text), state), 'incomplete'),
  };
}

function addTokens({ logprobs, fresh }: TextState, tokens: readonly TokenLogprob[]): void {
  for (const piece of logprobPieces(tokens)) {
    const json = oneLine(jsonText(piece));
    logprobs.push(json);
    fresh.push(json);
  }
}

export function openRefusal(place: ItemPlace): OpenMessage {
  const { log } = place;
  const at = beginMessage(place, refusalPart('""'));
  const delta = log.repeated('response.refusal.delta', at);
  let text = '';
  return {
    add: (more) => {
      text += more;
      delta(more);
    },
    end: (status) => {
      const json = quotedLine(text);
      log.add('response.refusal.done', `${at},"refusal":${json}`);
      return endMessage(place, { at, whole: refusalPart(json), status });
    },
    unfinished: () => messageText(place, refusalPart(quotedLine(text)), 'incomplete'),
  };
}

/** Returns the members that all events of the message's only part have. */
function beginMessage(place: ItemPlace, emptyPart: string): string {
  addItem(place, messageText(place, '', 'in_progress'));
  const at = `"item_id":${quoted(place.id)},"output_index":${place.index},"content_index":0`;
  place.log.add('response.content_part.added', `${at},"part":${emptyPart}`);
  return at;
}

function endMessage(
  place: ItemPlace,
  {
    at,
    whole,
    status,
  }: { readonly at: string; readonly whole: string; readonly status: ItemStatus },
): string {
  place.log.add('response.content_part.done', `${at},"part":${whole}`);
  return endItem(place, messageText(place, whole, status));
}

function messageText({ id }: ItemPlace, part: string, status: ItemStatus): string {
  const members = `"type":"message","status":"${status}","role":"assistant"`;
  return `{"id":${quoted(id)},${members},"content":[${part}]}`;
}

function textPart(
  text: string,
  { annotations, logprobs }: Pick<TextState, 'annotations' | 'logprobs'>,
): string {
  const lists = `"annotations":[${annotations.join(',')}],"logprobs":[${logprobs.join(',')}]`;
  return `{"type":"output_text",${lists},"text":${text}}`;
}

function refusalPart(text: string): string {
  return `{"type":"refusal","refusal":${text}}`;
}

/** A source without offsets belongs to the text before it. The AI SDK requires a title. */
function annotationText({ url, title, start, end }: Citation, length: number): string {
  const annotation = {
    type: 'url_citation',
    start_index: start ?? end ?? length,
    end_index: end ?? start ?? length,
    url,
    title: title ?? url,
  };
  return oneLine(jsonText(annotation));
}
