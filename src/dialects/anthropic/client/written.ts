/** The types that the writers of a Messages request share. */
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';

/** A JSON object to be written: a content block, a tool, or a member of the body. */
export interface Block {
  readonly [name: string]: JsonNode;
}

export interface Message extends Block {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

export interface WrittenBlocks {
  readonly blocks: readonly Block[];
  readonly dropped: readonly string[];
}

export interface PartTarget {
  readonly capabilities: ResolvedCapabilities;
  readonly names: FunctionNames;
}

/** A text block; undefined for blank text, which the API refuses. */
export function textBlock(text: string, cacheControl?: JsonNode): Block | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text, cache_control: cacheControl };
}

export function joined(written: readonly WrittenBlocks[]): WrittenBlocks {
  return {
    blocks: written.flatMap(({ blocks }) => blocks),
    dropped: written.flatMap(({ dropped }) => dropped),
  };
}
