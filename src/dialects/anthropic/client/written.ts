/** The shapes in which the parts of a Messages request are handed around while it is written. */
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';

/** A JSON object that is being written: a content block, a tool, a member of the body. */
export interface Block {
  readonly [name: string]: JsonNode;
}

/** One entry of `messages`. */
export interface Message extends Block {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

/** Blocks, with what was left out on the way, in the caller's words. */
export interface WrittenBlocks {
  readonly blocks: readonly Block[];
  readonly dropped: readonly string[];
}

/** Whom a part is written for. */
export interface PartTarget {
  readonly capabilities: ResolvedCapabilities;
  readonly names: FunctionNames;
}

/** The text in a block; undefined where the API would refuse it as empty. */
export function textBlock(text: string, cacheControl?: JsonNode): Block | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text, cache_control: cacheControl };
}

/** The blocks of many parts as one. */
export function joined(written: readonly WrittenBlocks[]): WrittenBlocks {
  return {
    blocks: written.flatMap(({ blocks }) => blocks),
    dropped: written.flatMap(({ dropped }) => dropped),
  };
}
