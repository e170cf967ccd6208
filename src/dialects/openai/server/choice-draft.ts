/** Gathers the events of one choice into the object that a whole chat completion holds. */
import type { ToolCallBegin } from '../../../canonical/reply.ts';
import { mergedContent } from './merged-content.ts';
import { openThought } from './open-thought.ts';
import {
  annotationPieces,
  audioPiece,
  blockedSentence,
  type ChoiceEvent,
  type EventOf,
  filterWords,
  finishWord,
  imagePiece,
  imageUrlPiece,
  isSound,
  logprobPieces,
  ownContent,
  type Piece,
  type ReplySource,
  signatureContent,
} from './words.ts';

/** One choice in the making. */
export interface ChoiceDraft {
  readonly index: number;
  add(event: ChoiceEvent): void;
  /** The prompt was blocked, which stands in for an answer. */
  block(event: EventOf<'blocked'>): void;
  /** The choice as it is written. */
  piece(): Piece;
  /** What had no place in it. */
  dropped(): readonly string[];
}

/** A choice without anything in it yet. */
export function choiceDraft(index: number, reply: ReplySource): ChoiceDraft {
  const said = saidDraft();
  const calls = callDrafts();
  const media = mediaDraft(reply);
  const annotations: Piece[] = [];
  const logprobs: Piece[] = [];
  let extra: Piece | undefined;
  let textSignatures = 0;
  let finish: EventOf<'finish'> | undefined;

  const add = (event: ChoiceEvent): void => {
    switch (event.type) {
      case 'text':
        if (event.opaque?.provider === 'gemini') textSignatures += 1;
        extra = mergedContent(extra, signatureContent(event.opaque));
        return said.add(event);
      case 'refusal':
      case 'reasoning':
        return said.add(event);
      case 'tool_begin':
        said.closeThought();
        return calls.begin(event);
      case 'tool_arguments':
        return calls.extend(event);
      case 'tool_end':
        return;
      case 'media':
        return media.add(event);
      case 'media_url':
        return media.addUrl(event.url);
      case 'logprobs':
        for (const piece of logprobPieces(event.tokens)) logprobs.push(piece);
        return;
      case 'citations':
        for (const piece of annotationPieces(event.citations)) annotations.push(piece);
        return;
      case 'own':
        extra = mergedContent(extra, ownContent(event));
        return;
      case 'finish':
        finish = event;
    }
  };

  const message = (): Piece => ({
    ...said.members(finish),
    tool_calls: some(calls.pieces()),
    ...media.members(),
    annotations: some(annotations),
    extra_content: extra,
  });

  return {
    index,
    add,
    block: (event) => {
      finish = { type: 'finish', choice: index, reason: 'content_filter' };
      said.add({ type: 'refusal', choice: index, text: blockedSentence(event) });
    },
    piece: () => ({
      index,
      message: message(),
      logprobs: logprobs.length === 0 ? null : { content: logprobs, refusal: null },
      finish_reason: finishWord(finish?.reason ?? 'stop', calls.pieces().length > 0),
      native_finish_reason: finish?.native,
    }),
    dropped: () => [
      ...(finish?.message === undefined || finish.reason === 'content_filter'
        ? []
        : ['finish_message']),
      // The text is one string, and has one place for a signature.
      ...(textSignatures > 1 ? ['extra_content.google.thought_signature'] : []),
    ],
  };
}

function some(pieces: readonly Piece[]): readonly Piece[] | undefined {
  return pieces.length === 0 ? undefined : pieces;
}

interface SaidDraft {
  add(event: EventOf<'text' | 'refusal' | 'reasoning'>): void;
  closeThought(): void;
  members(finish: EventOf<'finish'> | undefined): Piece;
}

function saidDraft(): SaidDraft {
  const texts = { text: '', refusal: '', reasoning: '' };
  const thought = openThought();
  const details: Piece[] = [];
  return {
    add: (event) => {
      texts[event.type] += event.text;
      if (event.type !== 'reasoning') return thought.drop();
      thought.add(event.text);
      if (event.opaque !== undefined) details.push(thought.close(event.opaque));
    },
    closeThought: () => thought.drop(),
    members: (finish) => ({
      role: 'assistant',
      content: texts.text || null,
      refusal: texts.refusal || filterWords(finish),
      reasoning_content: texts.reasoning || undefined,
      reasoning_details: some(details),
    }),
  };
}

interface CallDrafts {
  begin(event: ToolCallBegin): void;
  extend(event: EventOf<'tool_arguments'>): void;
  pieces(): readonly Piece[];
}

function callDrafts(): CallDrafts {
  const begun: ToolCallBegin[] = [];
  const texts = new Map<number, string>();
  return {
    begin: (event) => {
      begun.push(event);
      texts.set(event.call, event.arguments);
    },
    extend: ({ call, text }) => {
      texts.set(call, (texts.get(call) ?? '') + text);
    },
    pieces: () =>
      begun.map(({ call, id, name, opaque }) => ({
        id,
        type: 'function',
        function: { name, arguments: texts.get(call) || '{}' },
        extra_content: signatureContent(opaque),
      })),
  };
}

interface MediaDraft {
  add(event: EventOf<'media'>): void;
  addUrl(url: string): void;
  members(): Piece;
}

function mediaDraft(reply: ReplySource): MediaDraft {
  const images: Piece[] = [];
  const sounds: EventOf<'media'>[] = [];
  return {
    add: (event) => {
      if (isSound(event.mimeType)) sounds.push(event);
      else images.push(imagePiece(event, images.length));
    },
    addUrl: (url) => {
      images.push(imageUrlPiece(url, images.length));
    },
    members: () => ({ images: some(images), audio: joinedSound(sounds, reply) }),
  };
}

/** The pieces of a sound are Base64 each for itself. */
function joinedSound(sounds: readonly EventOf<'media'>[], reply: ReplySource): Piece | undefined {
  const [first] = sounds;
  if (first === undefined) return undefined;
  const bytes = sounds.map(({ data }) => Buffer.from(data, 'base64'));
  const data = sounds.length === 1 ? first.data : Buffer.concat(bytes).toString('base64');
  return { ...audioPiece(reply, first.mimeType), data };
}
