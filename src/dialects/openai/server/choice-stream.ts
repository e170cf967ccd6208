/** Writes the chunks of one choice of a chat stream. */
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { ChoiceEvent, EventOf } from '../../../canonical/reply.ts';
import type { ChunkFrame } from './chunk-frame.ts';
import { contentDeltas } from './content-deltas.ts';
import { blockedMessage, filterMessage, finishReason, logprobPieces } from './reply-pieces.ts';

/** Writes one choice of a stream. */
export interface ChoiceStream {
  readonly index: number;
  write(event: ChoiceEvent): string;
  /** Writes that the prompt was blocked instead of answered. */
  block(event: EventOf<'blocked'>): string;
  /** Writes the only finish chunk, after all content. */
  end(): string;
}

/** Starts a choice; its first chunk has the role. */
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
    if (event.type === 'logprobs') return `${open}${logprobsChoice(event)}${frame.close}`;
    if (event.type !== 'finish') return chunk(deltas.of(event));
    // The finish chunk is written at the end; only a filter's message is written immediately.
    finish = event;
    return deltas.hasRefusal() ? '' : refusal(filterMessage(event) ?? '');
  };

  /** Puts the chunk with the role in front of the first chunk. */
  const withRoleChunk = (chunks: string): string => {
    const roleChunk = role;
    role = '';
    return `${roleChunk}${chunks}`;
  };

  return {
    index,
    write: (event) => withRoleChunk(content(event)),
    block: (event) => {
      finish = { type: 'finish', choice: index, reason: 'content_filter' };
      return withRoleChunk(refusal(blockedMessage(event)));
    },
    end: () => {
      const rest = deltas.rest(finish).map(chunk).join('');
      const last = finishChoice(finish, deltas.hasCalls());
      return withRoleChunk(`${rest}${open}${last}${frame.close}`);
    },
  };
}

/** Writes an empty delta with logprobs. */
function logprobsChoice({ tokens }: EventOf<'logprobs'>): string {
  const logprobs = jsonText({ content: logprobPieces(tokens), refusal: null });
  return `{},"logprobs":${logprobs},"finish_reason":null}`;
}

/** Writes an empty delta with the finish reason. */
function finishChoice(finish: EventOf<'finish'> | undefined, hasCalls: boolean): string {
  const reason = jsonText(finishReason(finish?.reason ?? 'stop', hasCalls));
  if (finish?.native === undefined) return `{},"logprobs":null,"finish_reason":${reason}}`;
  const native = quoted(finish.native);
  return `{},"logprobs":null,"finish_reason":${reason},"native_finish_reason":${native}}`;
}
