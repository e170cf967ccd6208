/**
 * Writes the content blocks of a reply: as events of a stream, or as the list of a whole message.
 * Blocks come one after the other, as Anthropic's do, and are numbered without gaps.
 */
import { argumentsObject } from '../../../canonical/arguments.ts';
import { jsonText, oneLine, quoted, quotedLine } from '../../../canonical/raw-json.ts';

/** No other kinds: the AI SDK refuses a whole reply for one block that it doesn't know. */
export type BlockHead =
  | { readonly type: 'text' }
  | { readonly type: 'thinking' }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string };

/** Receives the blocks of one reply. Before a block begins, the one before it has ended. */
export interface BlockSink {
  begin(head: BlockHead): void;
  /** Adds to the open block: text, thinking, or the JSON text of a call's input. */
  add(piece: string): void;
  /** Ends the open block. Thinking has a signature, without which the AI SDK refuses the reply. */
  end(signature?: string): void;
}

export interface StreamSink extends BlockSink {
  /** Adds another event; `members` is the JSON text of its members besides the type. */
  event(type: string, members: string): void;
  take(): string;
}

const deltas = {
  text: { type: 'text_delta', member: 'text' },
  thinking: { type: 'thinking_delta', member: 'thinking' },
  redacted_thinking: undefined,
  tool_use: { type: 'input_json_delta', member: 'partial_json' },
} as const;

/** The members that a block has at its start besides its head. Content comes only in deltas. */
const emptyMembers = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  redacted_thinking: {},
  tool_use: { input: {} },
} as const;

export function streamSink(): StreamSink {
  let text = '';
  let index = -1;
  /** The text of a delta of the open block up to its string. */
  let delta = '';
  const event = (type: string, members: string): void => {
    text += `${beginning(type)}${members === '' ? '' : `,${members}`}}\n\n`;
  };
  return {
    event,
    begin: (head) => {
      index += 1;
      const block = oneLine(jsonText({ ...head, ...emptyMembers[head.type] }));
      const { type, member } = deltas[head.type] ?? noDelta;
      const at = `,"index":${index},"delta":{"type":"${type}","${member}":`;
      delta = `${beginning('content_block_delta')}${at}`;
      event('content_block_start', `"index":${index},"content_block":${block}`);
    },
    add: (piece) => {
      text += `${delta}${quotedLine(piece)}}}\n\n`;
    },
    end: (signature) => {
      if (signature !== undefined) {
        const change = `"delta":{"type":"signature_delta","signature":${quoted(signature)}}`;
        event('content_block_delta', `"index":${index},${change}`);
      }
      event('content_block_stop', `"index":${index}`);
    },
    take: () => {
      const taken = text;
      text = '';
      return taken;
    },
  };
}

const noDelta = { type: '', member: '' } as const;

function beginning(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}"`;
}

export interface WholeSink extends BlockSink {
  /** Each as JSON text. */
  blocks(): readonly string[];
}

export function wholeSink(): WholeSink {
  const blocks: string[] = [];
  let head: BlockHead = { type: 'text' };
  let content = '';
  return {
    begin: (next) => {
      head = next;
      content = '';
    },
    add: (piece) => {
      content += piece;
    },
    end: (signature) => void blocks.push(oneLine(blockText(head, content, signature))),
    blocks: () => blocks,
  };
}

function blockText(head: BlockHead, content: string, signature: string | undefined): string {
  switch (head.type) {
    case 'text':
      return jsonText({ ...head, text: content });
    case 'thinking':
      return jsonText({ ...head, thinking: content, signature });
    case 'redacted_thinking':
      return jsonText(head);
    case 'tool_use':
      return `${jsonText(head).slice(0, -1)},"input":${argumentsObject(content).json}}`;
  }
}
