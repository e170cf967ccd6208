/**
 * Holds what is emitted only at the end of a reply, for callers who know the provider: citations of
 * the caller's documents, and blocks of unknown kinds.
 */
import type { Citation, ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';
import { stringMember, type TextBlock } from './open-block.ts';

/** What one reply holds back. */
export interface HeldBack {
  /** Adds a citation of a text: to its block, or to the end if it cites a document. */
  addCitation(block: TextBlock, citation: JsonValue | undefined): void;
  /** Adds a block of an unknown kind. */
  addBlock(block: JsonValue): void;
  events(): readonly ContentEvent[];
}

/** Far above real replies. Unknown blocks and citations are held in memory until the end. */
const maxBlocks = 1_000;
const maxCitations = 10_000;
const choice = 0;

/** Starts empty. */
export function heldBack(): HeldBack {
  const blocks: JsonObject[] = [];
  const documentCitations: JsonObject[] = [];
  let citationCount = 0;
  return {
    addCitation: ({ citations, start }, citation) => {
      citationCount += 1;
      if (citationCount > maxCitations) return;
      const source = readCitation(citation);
      if (source !== undefined) citations.push(source);
      // A citation of the caller's documents has no URL and is passed on unchanged.
      else if (isJsonObject(citation)) documentCitations.push({ ...citation, text_start: start });
    },
    addBlock: (block) => {
      if (isJsonObject(block) && blocks.length < maxBlocks && !isEmpty(block)) blocks.push(block);
    },
    events: () => [
      ...providerEvents('citations', documentCitations),
      ...providerEvents('blocks', blocks),
    ],
  };
}

function isEmpty(block: JsonObject): boolean {
  for (const name in block) if (Object.hasOwn(block, name)) return false;
  return true;
}

function readCitation(citation: JsonValue | undefined): Citation | undefined {
  const url = stringMember(citation, 'url');
  if (url === '') return undefined;
  const title = stringMember(citation, 'title');
  return { url, title: title === '' ? undefined : title, start: undefined, end: undefined };
}

function providerEvents(name: string, value: readonly JsonObject[]): readonly ContentEvent[] {
  return value.length === 0
    ? []
    : [{ type: 'provider_specific', choice, provider: 'anthropic', name, value }];
}
