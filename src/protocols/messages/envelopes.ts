/**
 * Finds thinking of other providers in a history. A translated reply carries it in an envelope of
 * the gateway, whose signature Anthropic would refuse together with the whole call.
 */
import { cutElements } from '../../bytes/json/cut-elements.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Span } from '../../bytes/json/text.ts';
import type { Call } from '../../call.ts';
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
export function foreignThinking({ tape }: Call): RelayCuts | undefined {
  // Most bodies have none, and need no more than a search.
  if (!mayHoldEnvelope(tape.bytes)) return undefined;
  const changed: string[] = [];
  const inside: Span[] = [];
  const cuts = cutElements(tape, tape.get(root, 'messages'), (message, index) => {
    const blocks = foreignBlocks(tape, message);
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

function foreignBlocks(tape: Tape, message: Value): ForeignBlocks {
  const isOfModel = tape.shortText(tape.get(message, 'role')) === 'assistant';
  const content = isOfModel ? tape.get(message, 'content') : none;
  const indices: number[] = [];
  const cuts = cutElements(tape, content, (block, index) => {
    const isForeign = hasEnvelope(tape, block);
    if (isForeign) indices.push(index);
    return isForeign;
  });
  return { cuts, indices, count: tape.elements(content).length };
}

function hasEnvelope(tape: Tape, block: Value): boolean {
  const type = tape.shortText(tape.get(block, 'type')) ?? '';
  const signature = tape.get(block, signatureNames.get(type) ?? '');
  return signature !== none && isEnvelopeAt(tape, signature);
}
