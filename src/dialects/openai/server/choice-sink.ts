/**
 * Writes the content of a choice of a chat reply: as the chunks of a stream, or as the choice of a
 * whole completion.
 */
import { jsonText, quoted, type RawJson } from '../../../canonical/raw-json.ts';
import type { EventOf, ToolCallBegin } from '../../../canonical/reply.ts';
import { isJsonObject, type JsonValue } from '../../../json.ts';
import type { ReplyHead } from '../../codec.ts';

/** A piece of a reply; undefined members are left out. */
export interface Piece {
  readonly [name: string]: PieceValue;
}

type PieceValue = JsonValue | undefined | Piece | readonly Piece[];

export interface ChoiceSink {
  /** Adds to a text, which may have provider data; only one of the two may be empty. */
  text(member: TextMember, text: string, extra?: Piece): void;
  call(begin: ToolCallBegin, extra: Piece | undefined): void;
  arguments(call: number, text: string): void;
  list(member: ListMember, pieces: readonly Piece[]): void;
  audio(event: EventOf<'media'>): void;
  extra(content: Piece): void;
  logprobs(tokens: readonly RawJson[]): void;
  end(reason: string, native: string | undefined): void;
}

type TextMember = 'content' | 'refusal' | 'reasoning_content';
type ListMember = 'annotations' | 'images' | 'reasoning_details';

export interface ReplySource {
  readonly id: string;
  readonly createdSeconds: number;
}

/** The text before and after the choice of a chunk, which is the same in all chunks of a stream. */
export interface ChunkFrame extends ReplySource {
  readonly open: string;
  readonly close: string;
}

export function chunkFrame(id: string, head: ReplyHead): ChunkFrame {
  const constant = jsonText({
    id,
    object: 'chat.completion.chunk',
    created: head.createdSeconds,
    model: head.modelId,
  });
  return {
    id,
    createdSeconds: head.createdSeconds,
    open: `data: ${constant.slice(0, -1)},"choices":[`,
    // With `include_usage`, every chunk has a `usage` member, as at OpenAI.
    close: head.wantsUsage ? '],"usage":null}\n\n' : ']}\n\n',
  };
}

/** The chunks of a stream. The first one has the role. */
export class ChunkSink implements ChoiceSink {
  readonly #frame: ChunkFrame;
  readonly #open: string;
  readonly #close: string;
  #text: string;
  /** Clients concatenate the pieces of audio as text, so only the last one may end in padding. */
  #audio: Uint8Array = new Uint8Array();
  #audioType = '';

  constructor(index: number, frame: ChunkFrame) {
    this.#frame = frame;
    this.#open = `${frame.open}{"index":${index},"delta":`;
    this.#close = `,"logprobs":null,"finish_reason":null}${frame.close}`;
    this.#text = `${this.#open}{"role":"assistant","content":""}${this.#close}`;
  }

  take(): string {
    const taken = this.#text;
    this.#text = '';
    return taken;
  }

  text(member: TextMember, text: string, extra?: Piece): void {
    this.#delta(
      extra === undefined
        ? `{"${member}":${quoted(text)}}`
        : jsonText({ [member]: text || undefined, extra_content: extra }),
    );
  }

  call(begin: ToolCallBegin, extra: Piece | undefined): void {
    const index = begin.call;
    this.#delta(jsonText({ tool_calls: [{ index, ...callPiece(begin, begin.arguments, extra) }] }));
  }

  arguments(call: number, text: string): void {
    this.#delta(`{"tool_calls":[{"index":${call},"function":{"arguments":${quoted(text)}}}]}`);
  }

  list(member: ListMember, pieces: readonly Piece[]): void {
    this.#delta(jsonText({ [member]: pieces }));
  }

  audio({ mimeType, data }: EventOf<'media'>): void {
    this.#audioType = mimeType;
    const bytes = Buffer.concat([this.#audio, Buffer.from(data, 'base64')]);
    const whole = bytes.length - (bytes.length % 3);
    this.#audio = bytes.subarray(whole);
    if (whole > 0) this.#audioDelta(bytes.subarray(0, whole));
  }

  extra(content: Piece): void {
    this.#delta(jsonText({ extra_content: content }));
  }

  logprobs(tokens: readonly RawJson[]): void {
    const logprobs = jsonText({ content: tokens, refusal: null });
    const members = `"logprobs":${logprobs},"finish_reason":null`;
    this.#text += `${this.#open}{},${members}}${this.#frame.close}`;
  }

  end(reason: string, native: string | undefined): void {
    if (this.#audio.length > 0) this.#audioDelta(Buffer.from(this.#audio));
    const more = native === undefined ? '' : `,"native_finish_reason":${quoted(native)}`;
    const finish = `"finish_reason":${quoted(reason)}${more}`;
    this.#text += `${this.#open}{},"logprobs":null,${finish}}${this.#frame.close}`;
  }

  #delta(delta: string): void {
    this.#text += `${this.#open}${delta}${this.#close}`;
  }

  #audioDelta(bytes: Buffer): void {
    const audio = audioPiece(this.#frame, this.#audioType);
    this.#delta(jsonText({ audio: { ...audio, data: bytes.toString('base64') } }));
  }
}

export class MessageSink implements ChoiceSink {
  readonly #index: number;
  readonly #reply: ReplySource;
  readonly #texts = { content: '', refusal: '', reasoning_content: '' };
  readonly #calls = new Map<
    number,
    { readonly begin: ToolCallBegin; readonly extra: Piece | undefined; text: string }
  >();
  readonly #lists = new Map<ListMember, Piece[]>();
  readonly #audio: EventOf<'media'>[] = [];
  readonly #logprobs: RawJson[] = [];
  #extra: Piece | undefined;
  #reason: string | undefined;
  #native: string | undefined;

  constructor(index: number, reply: ReplySource) {
    this.#index = index;
    this.#reply = reply;
  }

  text(member: TextMember, text: string, extra?: Piece): void {
    this.#texts[member] += text;
    if (extra !== undefined) this.extra(extra);
  }

  call(begin: ToolCallBegin, extra: Piece | undefined): void {
    this.#calls.set(begin.call, { begin, extra, text: begin.arguments });
  }

  arguments(call: number, text: string): void {
    const known = this.#calls.get(call);
    if (known !== undefined) known.text += text;
  }

  list(member: ListMember, pieces: readonly Piece[]): void {
    const known = this.#lists.get(member) ?? [];
    for (const piece of pieces) known.push(piece);
    if (known.length > 0) this.#lists.set(member, known);
  }

  audio(event: EventOf<'media'>): void {
    this.#audio.push(event);
  }

  extra(content: Piece): void {
    this.#extra = mergedContent(this.#extra, content);
  }

  logprobs(tokens: readonly RawJson[]): void {
    for (const token of tokens) this.#logprobs.push(token);
  }

  end(reason: string, native: string | undefined): void {
    this.#reason = reason;
    this.#native = native;
  }

  choice(): Piece {
    const logprobs = this.#logprobs;
    return {
      index: this.#index,
      message: this.#message(),
      logprobs: logprobs.length === 0 ? null : { content: logprobs, refusal: null },
      finish_reason: this.#reason,
      native_finish_reason: this.#native,
    };
  }

  #message(): Piece {
    const { content, refusal, reasoning_content } = this.#texts;
    const calls = [...this.#calls.values()].map(({ begin, text, extra }) =>
      callPiece(begin, text, extra),
    );
    return {
      role: 'assistant',
      content: content || null,
      refusal: refusal || null,
      reasoning_content: reasoning_content || undefined,
      reasoning_details: this.#lists.get('reasoning_details'),
      tool_calls: calls.length === 0 ? undefined : calls,
      images: this.#lists.get('images'),
      audio: this.#joinedAudio(),
      annotations: this.#lists.get('annotations'),
      extra_content: this.#extra,
    };
  }

  /** Joins pieces of audio, each of which is separate Base64. */
  #joinedAudio(): Piece | undefined {
    const [first, ...others] = this.#audio;
    if (first === undefined) return undefined;
    const bytes = (): Buffer[] => this.#audio.map(({ data }) => Buffer.from(data, 'base64'));
    const data = others.length === 0 ? first.data : Buffer.concat(bytes()).toString('base64');
    return { ...audioPiece(this.#reply, first.mimeType), data };
  }
}

function callPiece({ id, name }: ToolCallBegin, text: string, extra: Piece | undefined): Piece {
  return { id, type: 'function', function: { name, arguments: text }, extra_content: extra };
}

/** The audio is not stored for later turns, so it expires immediately. */
function audioPiece({ id, createdSeconds }: ReplySource, mimeType: string): Piece {
  return { id: `audio-${id}`, expires_at: createdSeconds, transcript: '', mime_type: mimeType };
}

/** Objects are merged member by member, arrays are joined; any other value is replaced. */
function mergedContent(one: Piece | undefined, other: Piece): Piece {
  const merged: Record<string, PieceValue> = { ...one };
  for (const [provider, content] of Object.entries(other)) {
    const before = merged[provider];
    merged[provider] = isPiece(before) && isPiece(content) ? joined(before, content) : content;
  }
  return merged;
}

/** An object among them is replaced, because each event contains it in full. */
function joined(one: Piece, other: Piece): Piece {
  const merged: Record<string, PieceValue> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = merged[name];
    merged[name] = isList(before) && isList(value) ? [...before, ...value] : value;
  }
  return merged;
}

function isPiece(value: PieceValue): value is Piece {
  return isJsonObject(value);
}

function isList(value: PieceValue): value is readonly Piece[] {
  return Array.isArray(value);
}
