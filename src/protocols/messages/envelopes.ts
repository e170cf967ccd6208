/**
 * Finds thinking of other providers in a history. A translated reply carries it in an envelope of
 * the gateway, whose signature Anthropic would refuse together with the whole call.
 */
import { cutElements } from '../../bytes/json/cut-elements.ts';
import { findMember, kindAt, membersOf } from '../../bytes/json/read/members.ts';
import type { Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket } from '../../bytes/json/text.ts';
import type { Call } from '../../call.ts';
import { shortText } from '../../dialects/prompt-size.ts';
import { isEnvelopeAt, mayHoldEnvelope } from '../envelope-marks.ts';
import type { RelayCuts } from '../protocol.ts';

/** The members in which each type of block has its signature. */
const signatureNames: ReadonlyMap<string, string> = new Map([
  ['thinking', 'signature'],
  ['redacted_thinking', 'data'],
]);

/**
 * The thinking blocks of the history that hold an envelope. An assistant message that would be left
 * without any block goes with them. Undefined if there is none.
 */
export function foreignThinking({ body: { text }, members }: Call): RelayCuts | undefined {
  // Most bodies have none, and need no more than a search.
  if (!mayHoldEnvelope(text)) return undefined;
  const messages = findMember(members, 'messages');
  if (messages === undefined || kindAt(text, messages.value) !== 'array') return undefined;
  const changed: string[] = [];
  const inside: Span[] = [];
  const cuts = cutElements(text, messages.value, (message, index) => {
    const blocks = foreignBlocks(text, message);
    changed.push(...blocks.indices.map((block) => `messages[${index}].content[${block}]`));
    const isEmpty = blocks.indices.length > 0 && blocks.indices.length === blocks.count;
    if (!isEmpty) inside.push(...blocks.cuts);
    return isEmpty;
  });
  const inOrder = [...cuts, ...inside].sort((a, b) => a.start - b.start);
  return changed.length === 0 ? undefined : { spans: inOrder, changed };
}

/** The blocks of one message that are cut. */
interface ForeignBlocks {
  readonly cuts: readonly Span[];
  readonly indices: readonly number[];
  /** The number of all its blocks. */
  readonly count: number;
}

const none: ForeignBlocks = { cuts: [], indices: [], count: 0 };

function foreignBlocks(text: Buffer, message: Span): ForeignBlocks {
  if (text[message.start] !== openBrace) return none;
  const members = membersOf(text, message);
  const content = findMember(members, 'content');
  if (content === undefined || text[content.value.start] !== openBracket) return none;
  if (shortText(text, findMember(members, 'role')?.value) !== 'assistant') return none;
  const indices: number[] = [];
  let count = 0;
  const cuts = cutElements(text, content.value, (block, index) => {
    count = index + 1;
    const isForeign = text[block.start] === openBrace && hasEnvelope(text, block);
    if (isForeign) indices.push(index);
    return isForeign;
  });
  return { cuts, indices, count };
}

function hasEnvelope(text: Buffer, block: Span): boolean {
  const members = membersOf(text, block);
  const type = shortText(text, findMember(members, 'type')?.value) ?? '';
  const signature = findMember(members, signatureNames.get(type) ?? '');
  return signature !== undefined && isEnvelopeAt(text, signature.value);
}
