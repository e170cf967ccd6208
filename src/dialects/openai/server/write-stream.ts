/**
 * Writes a chat stream from its events. The constant text of a chunk is made once, so that a delta
 * costs one `JSON.stringify` of its string.
 */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentEvent, ReplyUsage } from '../../../canonical/reply.ts';
import type { ContentStreamWriter, ReplyHead } from '../../codec.ts';
import { openaiErrorText } from '../errors.ts';
import { type ChoiceStream, choiceStream } from './choice-stream.ts';
import { type ChunkFrame, chunkFrame } from './chunk-frame.ts';
import { replyId, usagePiece, zeroUsage } from './reply-pieces.ts';

/** What one stream has contained so far. */
interface StreamState {
  readonly head: ReplyHead;
  readonly choices: Map<number, ChoiceStream>;
  frame: ChunkFrame | undefined;
  upstreamId: string | undefined;
  usage: ReplyUsage | undefined;
}

/** Creates the writer of one stream. */
export function writeStream(head: ReplyHead): ContentStreamWriter {
  const stream: StreamState = {
    head,
    choices: new Map(),
    frame: undefined,
    upstreamId: undefined,
    usage: undefined,
  };
  return {
    write: (events) => {
      let text = '';
      for (const event of events) text += writeEvent(stream, event);
      return text;
    },
    end: () => {
      const { choices } = stream;
      if (choices.size === 0) choiceOf(stream, 0);
      const inOrder = [...choices.values()].sort((one, other) => one.index - other.index);
      const ends = inOrder.map((choice) => choice.end()).join('');
      return `${ends}${usageChunk(stream)}data: [DONE]\n\n`;
    },
    breakOff: (error) => [`data: ${openaiErrorText(error)}\n\n`],
  };
}

function writeEvent(stream: StreamState, event: ContentEvent): string {
  switch (event.type) {
    case 'start':
      stream.upstreamId ??= event.id;
      return '';
    case 'usage':
      stream.usage = event.usage;
      return '';
    case 'blocked':
      stream.usage ??= zeroUsage;
      return choiceOf(stream, 0).block(event);
    case 'unusable':
      return '';
    default:
      return choiceOf(stream, event.choice).write(event);
  }
}

function choiceOf(stream: StreamState, index: number): ChoiceStream {
  const known = stream.choices.get(index);
  if (known !== undefined) return known;
  const made = choiceStream(index, frameOf(stream));
  stream.choices.set(index, made);
  return made;
}

/** Created with the first chunk, because the upstream may send its id until then. */
function frameOf(stream: StreamState): ChunkFrame {
  const { head, upstreamId } = stream;
  stream.frame ??= chunkFrame(replyId(upstreamId, head.fallbackId), head);
  return stream.frame;
}

function usageChunk(stream: StreamState): string {
  const { head, usage } = stream;
  if (!head.wantsUsage || usage === undefined) return '';
  return `${frameOf(stream).open}],"usage":${jsonText(usagePiece(usage))}}\n\n`;
}
