/**
 * Counts the content of a reply for which the upstream reports no usage: the bytes of what the
 * model generated, without the JSON and the framing around them.
 */
import type { JsonValue } from '../../json.ts';
import { unescapedBytes } from '../../json-strings.ts';
import { addReplyContent } from './reply-content.ts';

/** Tokens per byte of content. Text written by people is hardly ever denser than that. */
const tokensPerByte = { tokens: 2, bytes: 5 } as const;

/**
 * Bytes of content that have as many tokens as a byte of encrypted reasoning, which has a fifth of
 * a token.
 */
const contentPerSealedByte = 0.5;

/** Sealed data stands for reasoning that is counted already if any of it is readable. */
export function sealedContent(bytes: number, reasoningBytes: number): number {
  return reasoningBytes > 0 ? 0 : bytes * contentPerSealedByte;
}

export function contentTokens(bytes: number): number {
  return Math.ceil((bytes * tokensPerByte.tokens) / tokensPerByte.bytes);
}

export interface ContentCount {
  /** Counts a reply, an event or an array of them, and returns whether it holds any content. */
  add(document: JsonValue): boolean;
  /** The same, but counts nothing if there is no content, for a caller that looks again. */
  addContent(document: JsonValue): boolean;
  /** As `add`, but counts nothing if there is no content, for a caller that will add it again. */
  addString(text: string, start: number, end: number, reasoning: string): void;
  tokens(): number;
}

/** Vendors send the same reasoning under several names at once: only the longest is counted. */
export function contentCount(): ContentCount {
  let content = 0;
  let media = 0;
  let hasAny = false;
  const reasoningBytes = new Map<string, number>();
  const sealedBytes = new Map<string, number>();
  /** What the last document had besides content. */
  let unknown = 0;
  const sealed: (readonly [name: string, bytes: number])[] = [];
  const addBytes = (bytes: number, reasoning: string): void => {
    hasAny ||= bytes > 0;
    if (reasoning === '') content += bytes;
    else reasoningBytes.set(reasoning, (reasoningBytes.get(reasoning) ?? 0) + bytes);
  };
  const addTokens = (tokens: number): void => {
    hasAny ||= tokens > 0;
    media += tokens;
  };
  // Sealed and unknown bytes don't show that the reply has begun: their meaning is not known.
  const addSealed = (bytes: number, name: string): void => {
    sealed.push([name, bytes]);
  };
  const addUnknown = (bytes: number): void => {
    unknown += bytes;
  };
  const commit = (): void => {
    content += unknown;
    for (const [name, bytes] of sealed) sealedBytes.set(name, (sealedBytes.get(name) ?? 0) + bytes);
  };
  const sink = { addBytes, addTokens, addSealed, addUnknown };
  const look = (document: JsonValue): void => {
    hasAny = false;
    unknown = 0;
    if (sealed.length > 0) sealed.length = 0;
    addReplyContent(document, sink);
  };
  return {
    add: (document) => {
      look(document);
      commit();
      return hasAny;
    },
    addContent: (document) => {
      look(document);
      if (hasAny) commit();
      return hasAny;
    },
    addString: (text, start, end, reasoning) =>
      addBytes(unescapedBytes(text, start, end), reasoning),
    tokens: () => {
      const reasoning = Math.max(0, ...reasoningBytes.values());
      const hidden = sealedContent(Math.max(0, ...sealedBytes.values()), reasoning);
      return media + contentTokens(content + reasoning + hidden);
    },
  };
}
