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

/** Creates the writer of one stream. */
export function writeStream(head: ReplyHead): ContentStreamWriter {
  const choices = new Map<number, ChoiceStream>();
  let frame: ChunkFrame | undefined;
  let upstreamId: string | undefined;
  let usage: ReplyUsage | undefined;

  /** Created with the first chunk, because the upstream may send its id until then. */
  const frameNow = (): ChunkFrame => {
    frame ??= chunkFrame(replyId(upstreamId, head.fallbackId), head);
    return frame;
  };

  const choiceOf = (index: number): ChoiceStream => {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const made = choiceStream(index, frameNow());
    choices.set(index, made);
    return made;
  };

  const write = (event: ContentEvent): string => {
    switch (event.type) {
      case 'start':
        upstreamId ??= event.id;
        return '';
      case 'usage':
        usage = event.usage;
        return '';
      case 'blocked':
        usage ??= zeroUsage;
        return choiceOf(0).block(event);
      case 'unusable':
        return '';
      default:
        return choiceOf(event.choice).write(event);
    }
  };

  const usageChunk = (): string => {
    if (!head.wantsUsage || usage === undefined) return '';
    return `${frameNow().open}],"usage":${jsonText(usagePiece(usage))}}\n\n`;
  };

  return {
    write: (events) => {
      let text = '';
      for (const event of events) text += write(event);
      return text;
    },
    end: () => {
      if (choices.size === 0) choiceOf(0);
      const inOrder = [...choices.values()].sort((one, other) => one.index - other.index);
      return `${inOrder.map((choice) => choice.end()).join('')}${usageChunk()}data: [DONE]\n\n`;
    },
    breakOff: (error) => [`data: ${openaiErrorText(error)}\n\n`],
  };
}
