/**
 * Counts the content of a Responses reply for which the upstream reports no usage. A stream sends
 * the same content up to four times: in deltas, at the end of each part and item, and with the
 * whole reply at its end. Each item counts once, by the largest of them.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { unescapedBytes } from '../../../json-strings.ts';
import { contentTokens, sealedContent } from '../../taps/content-count.ts';
import {
  addMessage,
  addValue,
  type ContentSink,
  imageTokens,
  isFilled,
  labelBytes,
} from '../../taps/reply-content.ts';

export interface ResponseCount {
  /** Counts an event or a whole reply, and returns whether it holds any content. */
  add(document: JsonValue): boolean;
  /**
   * Counts a delta in the source text of an event, as latin1, for the item and member of the delta
   * that was added last.
   */
  addString(text: string, start: number, end: number): void;
  tokens(): number;
}

/** The content of one item. All sizes are in bytes, except that media are in tokens. */
interface ItemSize {
  text: number;
  /** Reasoning that was sent as a summary; `reasoning` is what was sent as text. */
  summary: number;
  reasoning: number;
  sealed: number;
  mediaTokens: number;
}

type TextMember = 'text' | 'summary' | 'reasoning';

interface Counted {
  /** The items by their place in the reply or, if events leave it out, by their id. */
  readonly sizes: Map<JsonValue, ItemSize>;
  bytes: number;
  mediaTokens: number;
  /** Content that only the last event has, which repeats the whole reply. */
  wholeBytes: number;
  wholeMediaTokens: number;
  last: ItemSize;
  lastMember: TextMember;
}

/** Events that repeat the request, and events that report the progress of a tool. */
const withoutContent = /^response\.(?:created|in_progress|queued|.*_call\.\w+|mcp_list_tools\..*)$/;
/** Results of tools, sources of the text, and drafts of an image that follows. */
const notGenerated = /annotation|partial_image|_output_content/;

export function responseCount(): ResponseCount {
  const counted: Counted = {
    sizes: new Map(),
    bytes: 0,
    mediaTokens: 0,
    wholeBytes: 0,
    wholeMediaTokens: 0,
    last: emptySize(),
    lastMember: 'text',
  };
  return {
    add: (document) => isJsonObject(document) && addDocument(counted, document),
    addString: (text, start, end) => {
      grow(counted, counted.last, counted.lastMember, unescapedBytes(text, start, end));
    },
    tokens: () => {
      const bytes = Math.max(counted.bytes, counted.wholeBytes);
      return Math.max(counted.mediaTokens, counted.wholeMediaTokens) + contentTokens(bytes);
    },
  };
}

function emptySize(): ItemSize {
  return { text: 0, summary: 0, reasoning: 0, sealed: 0, mediaTokens: 0 };
}

function addDocument(counted: Counted, document: JsonObject): boolean {
  const type = member(document, 'type');
  if (typeof type !== 'string') return addWhole(counted, document);
  if (withoutContent.test(type) || notGenerated.test(type)) return false;
  const response = member(document, 'response');
  if (isJsonObject(response)) return addWhole(counted, response);
  const key = member(document, 'output_index') ?? idIn(document) ?? -1;
  const size = counted.sizes.get(key) ?? emptySize();
  counted.sizes.set(key, size);
  if (type.endsWith('.delta')) return addDelta(counted, size, type, document);
  const item = member(document, 'item');
  const known = item === undefined ? sizeOfEvent(type, document) : sizeOfItem(item);
  raiseTo(counted, size, known);
  return hasContent(known);
}

/** Encrypted data alone is not content for a caller. */
function hasContent({ text, summary, reasoning, mediaTokens }: ItemSize): boolean {
  return text + summary + reasoning + mediaTokens > 0;
}

function idIn(event: JsonObject): JsonValue | undefined {
  return member(event, 'item_id') ?? member(member(event, 'item'), 'id');
}

function addDelta(counted: Counted, size: ItemSize, type: string, event: JsonObject): boolean {
  counted.last = size;
  counted.lastMember = memberOf(type);
  const { text, mediaTokens } = sizeOf((sink) =>
    addValue(member(event, 'delta') ?? null, '', sink),
  );
  grow(counted, size, counted.lastMember, text);
  size.mediaTokens += mediaTokens;
  counted.mediaTokens += mediaTokens;
  return text + mediaTokens > 0;
}

function memberOf(type: string): TextMember {
  if (type.includes('reasoning_summary')) return 'summary';
  return type.includes('reasoning') ? 'reasoning' : 'text';
}

/** The content of an event that is neither a delta nor has an item: the end of a part. */
function sizeOfEvent(type: string, event: JsonObject): ItemSize {
  // Numbers say where the content belongs.
  const content = Object.entries(event).filter(([, value]) => typeof value !== 'number');
  const { text, ...size } = sizeOf((sink) => addMessage(Object.fromEntries(content), sink));
  // The only parts that don't name their kind in the event's type.
  const isReasoning = member(member(event, 'part'), 'type') === 'reasoning_text';
  const name = isReasoning ? 'reasoning' : memberOf(type);
  return { ...size, text: 0, [name]: text };
}

function sizeOfItem(item: JsonValue): ItemSize {
  return sizeOf((sink) => addItemContent(item, sink));
}

function sizeOf(add: (sink: ContentSink) => void): ItemSize {
  const size = emptySize();
  add({
    addBytes: (bytes, reasoning) => {
      if (reasoning === 'summary') size.summary += bytes;
      else if (reasoning === '') size.text += bytes;
      else size.reasoning += bytes;
    },
    addTokens: (tokens) => {
      size.mediaTokens += tokens;
    },
    addSealed: (bytes) => {
      size.sealed += bytes;
    },
    addUnknown: (bytes) => {
      size.text += bytes;
    },
  });
  return size;
}

/** The bytes of an item as they count: a summary and encrypted data repeat the same reasoning. */
function bytesIn({ text, summary, reasoning, sealed }: ItemSize): number {
  return text + Math.max(reasoning, summary, sealedContent(sealed, reasoning));
}

function grow(counted: Counted, size: ItemSize, name: TextMember, bytes: number): void {
  const before = bytesIn(size);
  size[name] += bytes;
  counted.bytes += bytesIn(size) - before;
}

/** Raises the size of an item to what is known to be in it. */
function raiseTo(counted: Counted, size: ItemSize, known: ItemSize): void {
  const before = bytesIn(size);
  const mediaBefore = size.mediaTokens;
  for (const name of ['text', 'summary', 'reasoning', 'sealed', 'mediaTokens'] as const) {
    size[name] = Math.max(size[name], known[name]);
  }
  counted.bytes += bytesIn(size) - before;
  counted.mediaTokens += size.mediaTokens - mediaBefore;
}

/** Counts the items of a whole reply, which may not be in the order of their events. */
function addWhole(counted: Counted, response: JsonObject): boolean {
  const sizes = items(member(response, 'output')).map(sizeOfItem);
  const sum = (of: (size: ItemSize) => number): number =>
    sizes.reduce((total, size) => total + of(size), 0);
  counted.wholeBytes = Math.max(counted.wholeBytes, sum(bytesIn));
  counted.wholeMediaTokens = Math.max(
    counted.wholeMediaTokens,
    sum(({ mediaTokens }) => mediaTokens),
  );
  return sizes.some(hasContent);
}

/** Items with the results of tools, which a model reads. */
const resultTypes: ReadonlySet<string> = new Set(['mcp_list_tools', 'tool_search_output']);
const resultNames: ReadonlySet<string> = new Set([
  ...['results', 'outputs', 'output', 'tools', 'error', 'environment', 'sources'],
  ...['pending_safety_checks', 'fingerprint', 'caller'],
]);
/** Settings and names. Only bytes beyond the length of a label count. */
const labelNames: ReadonlySet<string> = new Set([
  ...['name', 'namespace', 'server_label', 'container_id', 'execution', 'approval_request_id'],
  ...['background', 'quality', 'size', 'output_format', 'moderation'],
]);

/** Reasoning keeps its member's name: it may come as a summary, as text and encrypted. */
function addItemContent(item: JsonValue, sink: ContentSink): void {
  const type = member(item, 'type');
  if (!isJsonObject(item) || isResult(type)) return;
  const isReasoning = type === 'reasoning';
  const isImage = type === 'image_generation_call';
  if (isImage && isFilled(member(item, 'result') ?? null)) sink.addTokens(imageTokens);
  for (const [name, value] of Object.entries(item)) {
    if (resultNames.has(name) || (isImage && name === 'result')) continue;
    if (isReasoning && (name === 'summary' || name === 'content')) addValue(value, name, sink);
    else if (labelNames.has(name) && typeof value === 'string') {
      sink.addBytes(labelBytes(value), '');
    } else if (name === 'action') addMessage({ action: withoutSources(value) }, sink);
    else addMessage({ [name]: value }, sink);
  }
}

function isResult(type: JsonValue | undefined): boolean {
  return typeof type === 'string' && (type.endsWith('_output') || resultTypes.has(type));
}

/** A search lists its sources, and repeats its first query. */
function withoutSources(action: JsonValue): JsonValue {
  if (!isJsonObject(action)) return action;
  const { sources: _results, query, queries, ...rest } = action;
  const written = queries ?? query;
  return written === undefined ? rest : ({ ...rest, queries: written } satisfies JsonObject);
}
