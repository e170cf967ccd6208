/** Writes the content of a choice of a chat stream as the JSON text of `delta` objects. */
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ChoiceEvent, EventOf, ToolCallBegin } from '../../../canonical/reply.ts';
import type { ChunkFrame } from './chunk-frame.ts';
import { openReasoning } from './open-reasoning.ts';
import {
  annotationPieces,
  audioPiece,
  emptyArguments,
  imagePiece,
  imageUrlPiece,
  isAudio,
  type Piece,
  providerContent,
  signatureContent,
} from './reply-pieces.ts';

/** An event that is written inside `delta`, unlike a finish or logprobs. */
export type DeltaEvent = Exclude<ChoiceEvent, { readonly type: 'finish' | 'logprobs' }>;

/** Writes the deltas of one choice. */
export interface ContentDeltas {
  /** Returns the delta as JSON text; empty if the event has no content. */
  of(event: DeltaEvent): string;
  hasRefusal(): boolean;
  hasCalls(): boolean;
  /** Returns the deltas held back until the end. Called once. */
  rest(finish: EventOf<'finish'> | undefined): readonly string[];
}

/** Starts a choice. */
export function contentDeltas(frame: ChunkFrame): ContentDeltas {
  const texts = textDeltas();
  const calls = callDeltas();
  const media = mediaDeltas(frame);
  return {
    of: (event) => {
      switch (event.type) {
        case 'text':
        case 'reasoning':
        case 'refusal':
          return texts.of(event);
        case 'tool_arguments':
          return event.text === '' ? '' : calls.appendArguments(event.call, event.text);
        case 'tool_begin':
          texts.dropReasoning();
          return calls.begin(event);
        case 'tool_end':
          // Whether a call without arguments was cut shows only in the finish.
          return '';
        case 'media':
          return media.of(event);
        case 'media_url':
          return media.ofUrl(event.url);
        case 'citations':
          return jsonText({ annotations: annotationPieces(event.citations) });
        case 'provider_specific':
          return jsonText({ extra_content: providerContent(event) });
      }
    },
    hasRefusal: texts.hasRefusal,
    hasCalls: calls.hasCalls,
    rest: (finish) => [...texts.rest(), ...calls.emptyCalls(finish), ...media.rest()],
  };
}

interface TextDeltas {
  of(event: EventOf<'text' | 'reasoning' | 'refusal'>): string;
  dropReasoning(): void;
  hasRefusal(): boolean;
  rest(): readonly string[];
}

function textDeltas(): TextDeltas {
  const openBlock = openReasoning();
  /**
   * Held back until the end, because OpenAI's client keeps only the last value of a repeated
   * member.
   */
  const details: Piece[] = [];
  let hasRefusal = false;
  const ofReasoning = ({ text, providerData }: EventOf<'reasoning'>): string => {
    openBlock.add(text);
    if (providerData !== undefined) details.push(openBlock.close(providerData));
    return text === '' ? '' : `{"reasoning_content":${quoted(text)}}`;
  };
  return {
    of: (event) => {
      if (event.type === 'reasoning') return ofReasoning(event);
      openBlock.drop();
      if (event.type === 'text') return ofText(event);
      hasRefusal ||= event.text !== '';
      return event.text === '' ? '' : `{"refusal":${quoted(event.text)}}`;
    },
    dropReasoning: openBlock.drop,
    hasRefusal: () => hasRefusal,
    rest: () => (details.length === 0 ? [] : [jsonText({ reasoning_details: details })]),
  };
}

function ofText({ text, providerData }: EventOf<'text'>): string {
  const extra = signatureContent(providerData);
  if (extra !== undefined) {
    return jsonText({ content: text || undefined, extra_content: extra });
  }
  return text === '' ? '' : `{"content":${quoted(text)}}`;
}

interface CallDeltas {
  begin(event: ToolCallBegin): string;
  appendArguments(call: number, text: string): string;
  hasCalls(): boolean;
  /**
   * Returns `{}` deltas for calls without arguments, because callers could not parse an empty text.
   */
  emptyCalls(finish: EventOf<'finish'> | undefined): readonly string[];
}

function callDeltas(): CallDeltas {
  const empty = new Set<number>();
  let last: number | undefined;
  const more = (call: number, text: string): string => {
    empty.delete(call);
    const argumentText = quoted(text);
    return `{"tool_calls":[{"index":${call},"function":{"arguments":${argumentText}}}]}`;
  };
  return {
    begin: ({ call, id, name, arguments: argumentText, providerData }) => {
      last = call;
      if (argumentText === '') empty.add(call);
      const called: Piece = {
        index: call,
        id,
        type: 'function',
        function: { name, arguments: argumentText },
        extra_content: signatureContent(providerData),
      };
      return jsonText({ tool_calls: [called] });
    },
    appendArguments: more,
    hasCalls: () => last !== undefined,
    emptyCalls: (finish) =>
      [...empty].flatMap((call) => {
        const text = emptyArguments(call === last, finish);
        return text === '' ? [] : [more(call, text)];
      }),
  };
}

interface MediaDeltas {
  of(event: EventOf<'media'>): string;
  ofUrl(url: string): string;
  rest(): readonly string[];
}

function mediaDeltas(frame: ChunkFrame): MediaDeltas {
  let images = 0;
  let mimeType = '';
  let heldBytes: Uint8Array = new Uint8Array();
  const audio = (bytes: Buffer): string =>
    jsonText({ audio: { ...audioPiece(frame, mimeType), data: bytes.toString('base64') } });
  return {
    of: (event) => {
      if (isAudio(event.mimeType)) {
        mimeType = event.mimeType;
        // Clients concatenate the pieces as text, so only the last one may end in padding.
        const bytes = Buffer.concat([heldBytes, Buffer.from(event.data, 'base64')]);
        const whole = bytes.length - (bytes.length % 3);
        heldBytes = bytes.subarray(whole);
        return whole === 0 ? '' : audio(bytes.subarray(0, whole));
      }
      images += 1;
      return jsonText({ images: [imagePiece(event, images - 1)] });
    },
    ofUrl: (url) => {
      images += 1;
      return jsonText({ images: [imageUrlPiece(url, images - 1)] });
    },
    rest: () => (heldBytes.length === 0 ? [] : [audio(Buffer.from(heldBytes))]),
  };
}
