/**
 * Measures what a model generated in a parsed reply, event or cut-off document of any dialect.
 * Everything in a message or part counts as generated, except members known to be framing: a member
 * that the gateway does not know is passed on to the caller, so it must not be free.
 */
import { dataUrlHead } from '../../canonical/media.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import {
  isJsonNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
} from '../../json.ts';

/** Tokens that Google counts for one generated image. */
export const imageTokens = 1_290;
/** Base64 characters of one audio token: a twentieth of a second of 16-bit samples at 24 kHz. */
export const charsPerAudioToken = 3_200;

export interface ContentSink {
  /** Bytes of content; `reasoning` is the member that holds it if it is reasoning, else ''. */
  addBytes(bytes: number, reasoning: string): void;
  addTokens(tokens: number): void;
  /** Bytes that only their provider can read, in the member of this name. */
  addSealed(bytes: number, name: string): void;
  /** Bytes in a member that the gateway does not know, beside the message of a reply. */
  addUnknown(bytes: number): void;
}

/** Members at any depth that describe content, or that no model wrote. */
const framing: ReadonlySet<string> = new Set([
  ...['role', 'index', 'id', 'call_id', 'item_id', 'tool_call_id', 'type', 'object', 'model'],
  ...['finish_reason', 'finishReason', 'native_finish_reason', 'stop_reason', 'stop_sequence'],
  ...['status', 'phase', 'format', 'language', 'outcome', 'toolType', 'mimeType', 'mime_type'],
  ...['thought', 'willContinue', 'created', 'expires_at', 'usage', 'obfuscation', 'logprobs'],
  ...['annotations', 'citations', 'citation', 'citationMetadata', 'groundingMetadata'],
  ...['content_filter_results', 'videoMetadata', 'mediaResolution', 'logprobsResult'],
]);
const sealed = /signature|encrypted/i;
const sealedType = /encrypted|redacted/;
/** Members beside the content of a reply or choice that no model wrote. */
const besideContent: ReadonlySet<string> = new Set([
  ...['choices', 'candidates', 'content', 'content_block', 'delta', 'message', 'text'],
  ...['parts', 'error'],
  ...['prompt_filter_results', 'promptFeedback', 'safetyRatings', 'urlContextMetadata'],
  ...['search_results', 'usageMetadata', 'finishMessage', 'stop_details', 'x_groq', 'timings'],
]);
const reasoningName = /reason|think|thought/i;
/** Values of these members count as their JSON text, as the same arguments in a string do. */
const jsonMembers: ReadonlySet<string> = new Set(['args', 'arguments', 'input', 'response']);
const labels: ReadonlySet<string> = new Set(['name', 'jsonPath']);
/** The longest name of a function that providers accept. */
const maxLabelBytes = 64;

export function addReplyContent(document: JsonValue, sink: ContentSink): void {
  for (const reply of Array.isArray(document) ? items(document) : [document]) {
    addBeside(reply, sink);
    for (const choice of items(member(reply, 'choices'))) {
      addBeside(choice, sink);
      addMessage(member(choice, 'delta'), sink);
      addMessage(member(choice, 'message'), sink);
      addMessage(member(choice, 'text'), sink);
    }
    for (const candidate of items(member(reply, 'candidates'))) {
      const content = member(candidate, 'content');
      addBeside(candidate, sink);
      addBeside(content, sink);
      addMessage(member(content, 'parts'), sink);
    }
    // The first event of an Anthropic stream.
    const message = member(reply, 'message');
    addBeside(message, sink);
    addMessage(member(message, 'content'), sink);
    for (const name of ['content', 'content_block', 'delta']) addMessage(member(reply, name), sink);
  }
}

/** Short strings are ids and labels, which servers repeat in each event. */
function addBeside(holder: JsonValue | undefined, sink: ContentSink): void {
  if (!isJsonObject(holder)) return;
  let bytes = 0;
  for (const [name, value] of Object.entries(holder)) {
    if (besideContent.has(name) || framing.has(name)) continue;
    if (typeof value === 'string') bytes += labelBytes(value);
    else if (typeof value === 'object' && value !== null) bytes += labelsIn(value);
  }
  if (bytes > 0) sink.addUnknown(bytes);
}

function labelsIn(start: JsonValue): number {
  let bytes = 0;
  const pending: JsonValue[] = [start];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value === 'string') bytes += labelBytes(value);
    else if (Array.isArray(value)) for (const inner of items(value)) pending.push(inner);
    else if (isJsonObject(value)) {
      for (const [name, inner] of Object.entries(value))
        if (!framing.has(name)) pending.push(inner);
    }
  }
  return bytes;
}

/** A name is a label that some vendors repeat in each event: only what is too long counts. */
export function labelBytes(text: string): number {
  return Math.max(0, utf8Bytes(text) - maxLabelBytes);
}

function mediaTokens(mimeType: string, data: string): number {
  if (data === '') return 0;
  return mimeType.startsWith('audio/') ? Math.ceil(data.length / charsPerAudioToken) : imageTokens;
}

/** The name of a member decides whether its text counts as reasoning or as visible text. */
export function addMessage(message: JsonValue | undefined, sink: ContentSink): void {
  if (!isJsonObject(message)) {
    if (message !== undefined) addValue(message, '', sink);
    return;
  }
  for (const [name, value] of Object.entries(message)) {
    // These are all that nearly every event has.
    if (value === null || name === 'role') continue;
    if (name === 'content' && typeof value === 'string') addText(value, '', sink);
    else
      addMember(name, value, {
        reasoning: reasoningName.test(name) ? name : '',
        sink,
        add: (inner, reasoning) => addValue(inner, reasoning, sink),
      });
  }
}

interface Walk {
  readonly reasoning: string;
  readonly sink: ContentSink;
  readonly add: (value: JsonValue, reasoning: string) => void;
}

/** Walks with a list instead of recursion: an upstream may nest deeper than the stack is. */
export function addValue(start: JsonValue, reasoning: string, sink: ContentSink): void {
  const pending: JsonValue[] = [start];
  const walk: Walk = { reasoning, sink, add: (inner) => pending.push(inner) };
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value === 'string') addText(value, reasoning, sink);
    else if (isJsonNumber(value)) sink.addBytes(jsonText(value).length, reasoning);
    else if (Array.isArray(value)) for (const inner of items(value)) pending.push(inner);
    else if (isJsonObject(value)) addObject(value, walk);
  }
}

function addObject(object: JsonObject, walk: Walk): void {
  const mimeType = member(object, 'mimeType') ?? member(object, 'mime_type');
  const data = member(object, 'data');
  const isMedia = typeof mimeType === 'string' && typeof data === 'string';
  if (isMedia) walk.sink.addTokens(mediaTokens(mimeType, data));
  const type = member(object, 'type');
  const isSealed = typeof type === 'string' && sealedType.test(type);
  const isThought = member(object, 'thought') === true;
  for (const [name, value] of Object.entries(object)) {
    if (name === 'data' && isMedia) continue;
    if (name === 'text' && isThought && typeof value === 'string') addText(value, name, walk.sink);
    else if (name === 'data' && isSealed) addSealedData(name, value, walk);
    else addMember(name, value, walk);
  }
}

function addMember(name: string, value: JsonValue, walk: Walk): void {
  const { sink, reasoning } = walk;
  if (framing.has(name)) return;
  if (sealed.test(name)) addSealedData(name, value, walk);
  else if (reasoning === '' && typeof value === 'string' && reasoningName.test(name))
    addText(value, name, sink);
  else if (labels.has(name) && typeof value === 'string')
    sink.addBytes(labelBytes(value), reasoning);
  else if (jsonMembers.has(name) && typeof value === 'object' && value !== null)
    sink.addBytes(utf8Bytes(jsonText(value)), reasoning);
  else if (name === 'audio' && isJsonObject(value)) addAudio(value, walk);
  else if (name === 'image_url' || name === 'b64_json') sink.addTokens(imagesIn([value]));
  else if (name === 'images' && Array.isArray(value)) sink.addTokens(imagesIn(items(value)));
  else walk.add(value, reasoning);
}

function addSealedData(name: string, value: JsonValue, { sink }: Walk): void {
  if (typeof value === 'string') sink.addSealed(utf8Bytes(value), name);
}

/** Each value is one image, unless it is an empty placeholder. */
function imagesIn(images: readonly JsonValue[]): number {
  return images.filter(isFilled).length * imageTokens;
}

/** Audio of a chat message has no media type. */
function addAudio(audio: JsonObject, { reasoning, add, sink }: Walk): void {
  const { data, ...rest } = audio;
  if (typeof data === 'string') sink.addTokens(mediaTokens('audio/', data));
  add(rest, reasoning);
}

function addText(text: string, reasoning: string, sink: ContentSink): void {
  const head = text.startsWith('data:') ? dataUrlHead(text) : undefined;
  if (head?.isBase64) sink.addTokens(mediaTokens(head.mimeType, text));
  else sink.addBytes(utf8Bytes(text), reasoning);
}

/** Half a surrogate pair, which an event may end with, is two bytes. */
function utf8Bytes(text: string): number {
  const bytes = Buffer.byteLength(text);
  if (bytes === text.length) return bytes;
  return bytes - (text.match(/\p{Surrogate}/gu)?.length ?? 0);
}

const elementLabels: ReadonlySet<string> = new Set([
  ...['type', 'role', 'id', 'index', 'format', 'mimeType', 'mime_type', 'thought'],
]);

/** Returns whether the value contains a non-empty string at any depth. */
export function isFilled(value: JsonValue): boolean {
  if (typeof value === 'string') return value !== '';
  if (Array.isArray(value)) return value.some(isFilled);
  return (
    isJsonObject(value) &&
    Object.entries(value).some(([name, inner]) => !elementLabels.has(name) && isFilled(inner))
  );
}
