/** Collects the events of one choice into the object that a whole chat completion contains. */
import type { ChoiceEvent, EventOf, ToolCallBegin } from '../../../canonical/reply.ts';
import { mergedContent } from './merged-content.ts';
import { openReasoning } from './open-reasoning.ts';
import {
  annotationPieces,
  audioPiece,
  blockedMessage,
  emptyArguments,
  filterMessage,
  finishReason,
  imagePiece,
  imageUrlPiece,
  isAudio,
  logprobPieces,
  type Piece,
  providerContent,
  type ReplySource,
  signatureContent,
} from './reply-pieces.ts';

/** One unfinished choice. */
export interface ChoiceDraft {
  readonly index: number;
  add(event: ChoiceEvent): void;
  /** Records that the prompt was blocked instead of answered. */
  block(event: EventOf<'blocked'>): void;
  /** Returns the choice as it is written. */
  piece(): Piece;
  /** Returns the names of what the choice cannot express. */
  dropped(): readonly string[];
}

/** What one choice has collected so far. */
interface DraftState {
  readonly texts: TextDraft;
  readonly calls: CallDrafts;
  readonly media: MediaDraft;
  readonly annotations: Piece[];
  readonly logprobs: Piece[];
  extraContent: Piece | undefined;
  textSignatures: number;
  finish: EventOf<'finish'> | undefined;
}

/** Starts with an empty choice. */
export function choiceDraft(index: number, reply: ReplySource): ChoiceDraft {
  const draft: DraftState = {
    texts: textDraft(),
    calls: callDrafts(),
    media: mediaDraft(reply),
    annotations: [],
    logprobs: [],
    extraContent: undefined,
    textSignatures: 0,
    finish: undefined,
  };
  return {
    index,
    add: (event) => addEvent(draft, event),
    block: (event) => {
      draft.finish = { type: 'finish', choice: index, reason: 'content_filter' };
      draft.texts.add({ type: 'refusal', choice: index, text: blockedMessage(event) });
    },
    piece: () => choicePiece(draft, index),
    dropped: () => droppedNames(draft),
  };
}

function addEvent(draft: DraftState, event: ChoiceEvent): void {
  const { texts, calls, media, annotations, logprobs } = draft;
  switch (event.type) {
    case 'text':
      if (event.providerData?.provider === 'gemini') draft.textSignatures += 1;
      draft.extraContent = mergedContent(draft.extraContent, signatureContent(event.providerData));
      return texts.add(event);
    case 'refusal':
    case 'reasoning':
      return texts.add(event);
    case 'tool_begin':
      texts.endReasoning();
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
    case 'provider_specific':
      draft.extraContent = mergedContent(draft.extraContent, providerContent(event));
      return;
    case 'finish':
      draft.finish = event;
  }
}

function choicePiece(draft: DraftState, index: number): Piece {
  const { calls, logprobs, finish } = draft;
  return {
    index,
    message: messagePiece(draft),
    logprobs: logprobs.length === 0 ? null : { content: logprobs, refusal: null },
    finish_reason: finishReason(finish?.reason ?? 'stop', calls.hasAny()),
    native_finish_reason: finish?.native,
  };
}

function messagePiece({
  texts,
  calls,
  media,
  annotations,
  extraContent,
  finish,
}: DraftState): Piece {
  return {
    ...texts.members(finish),
    tool_calls: undefinedIfEmpty(calls.pieces(finish)),
    ...media.members(),
    annotations: undefinedIfEmpty(annotations),
    extra_content: extraContent,
  };
}

function droppedNames({ finish, textSignatures }: DraftState): readonly string[] {
  return [
    ...(finish?.message === undefined || finish.reason === 'content_filter'
      ? []
      : ['finish_message']),
    // The text is one string and can carry one signature only.
    ...(textSignatures > 1 ? ['extra_content.google.thought_signature'] : []),
  ];
}

function undefinedIfEmpty(pieces: readonly Piece[]): readonly Piece[] | undefined {
  return pieces.length === 0 ? undefined : pieces;
}

interface TextDraft {
  add(event: EventOf<'text' | 'refusal' | 'reasoning'>): void;
  endReasoning(): void;
  members(finish: EventOf<'finish'> | undefined): Piece;
}

function textDraft(): TextDraft {
  const texts = { text: '', refusal: '', reasoning: '' };
  const openBlock = openReasoning();
  const details: Piece[] = [];
  return {
    add: (event) => {
      texts[event.type] += event.text;
      if (event.type !== 'reasoning') return openBlock.drop();
      openBlock.add(event.text);
      if (event.providerData !== undefined) details.push(openBlock.close(event.providerData));
    },
    endReasoning: () => openBlock.drop(),
    members: (finish) => ({
      role: 'assistant',
      content: texts.text || null,
      refusal: texts.refusal || filterMessage(finish),
      reasoning_content: texts.reasoning || undefined,
      reasoning_details: undefinedIfEmpty(details),
    }),
  };
}

interface CallDrafts {
  begin(event: ToolCallBegin): void;
  extend(event: EventOf<'tool_arguments'>): void;
  hasAny(): boolean;
  pieces(finish: EventOf<'finish'> | undefined): readonly Piece[];
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
    hasAny: () => begun.length > 0,
    pieces: (finish) =>
      begun.map(({ call, id, name, providerData }, index) => ({
        id,
        type: 'function',
        function: {
          name,
          arguments: texts.get(call) || emptyArguments(index === begun.length - 1, finish),
        },
        extra_content: signatureContent(providerData),
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
  const audioPieces: EventOf<'media'>[] = [];
  return {
    add: (event) => {
      if (isAudio(event.mimeType)) audioPieces.push(event);
      else images.push(imagePiece(event, images.length));
    },
    addUrl: (url) => {
      images.push(imageUrlPiece(url, images.length));
    },
    members: () => ({ images: undefinedIfEmpty(images), audio: joinedAudio(audioPieces, reply) }),
  };
}

/** Joins pieces of audio, each of which is separate Base64. */
function joinedAudio(
  audioPieces: readonly EventOf<'media'>[],
  reply: ReplySource,
): Piece | undefined {
  const [first] = audioPieces;
  if (first === undefined) return undefined;
  const bytes = audioPieces.map(({ data }) => Buffer.from(data, 'base64'));
  const data = audioPieces.length === 1 ? first.data : Buffer.concat(bytes).toString('base64');
  return { ...audioPiece(reply, first.mimeType), data };
}
