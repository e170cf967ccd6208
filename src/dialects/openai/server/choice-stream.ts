/** Writes the chunks of one choice of a chat stream. */
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ChunkFrame } from './chunk-frame.ts';
import { contentDeltas } from './content-deltas.ts';
import {
  blockedSentence,
  type ChoiceEvent,
  type EventOf,
  filterWords,
  finishWord,
  logprobPieces,
} from './words.ts';

/** One choice of a stream. */
export interface ChoiceStream {
  readonly index: number;
  write(event: ChoiceEvent): string;
  /** The prompt was blocked, which stands in for an answer. */
  block(event: EventOf<'blocked'>): string;
  /** The one finish, behind all content. */
  end(): string;
}

/** A choice that has said nothing yet; its first chunk names the role. */
export function choiceStream(index: number, frame: ChunkFrame): ChoiceStream {
  const open = `${frame.open}{"index":${index},"delta":`;
  const close = `,"logprobs":null,"finish_reason":null}${frame.close}`;
  const deltas = contentDeltas(frame);
  let role = `${open}{"role":"assistant","content":""}${close}`;
  let finish: EventOf<'finish'> | undefined;

  const chunk = (delta: string): string => (delta === '' ? '' : `${open}${delta}${close}`);

  const refusal = (text: string): string =>
    chunk(deltas.of({ type: 'refusal', choice: index, text }));

  const content = (event: ChoiceEvent): string => {
    if (event.type === 'logprobs') return `${open}${besides(event)}${frame.close}`;
    if (event.type !== 'finish') return chunk(deltas.of(event));
    // Only the finish itself waits for the end.
    finish = event;
    return deltas.hasRefusal() ? '' : refusal(filterWords(event) ?? '');
  };

  /** With the role in front of the first chunk. */
  const led = (chunks: string): string => {
    const lead = role;
    role = '';
    return `${lead}${chunks}`;
  };

  return {
    index,
    write: (event) => led(content(event)),
    block: (event) => {
      finish = { type: 'finish', choice: index, reason: 'content_filter' };
      return led(refusal(blockedSentence(event)));
    },
    end: () => {
      const rest = deltas.rest().map(chunk).join('');
      return led(`${rest}${open}${ending(finish, deltas.hasCalls())}${frame.close}`);
    },
  };
}

/** An empty delta with the probabilities beside it. */
function besides({ tokens }: EventOf<'logprobs'>): string {
  const told = jsonText({ content: logprobPieces(tokens), refusal: null });
  return `{},"logprobs":${told},"finish_reason":null}`;
}

/** An empty delta with the finish beside it. */
function ending(finish: EventOf<'finish'> | undefined, hasCalls: boolean): string {
  const word = jsonText(finishWord(finish?.reason ?? 'stop', hasCalls));
  if (finish?.native === undefined) return `{},"logprobs":null,"finish_reason":${word}}`;
  const native = quoted(finish.native);
  return `{},"logprobs":null,"finish_reason":${word},"native_finish_reason":${native}}`;
}
