/**
 * Rejoins thinking blocks that callers echo in the pieces of a stream: text first and the signature
 * later, possibly in separate messages.
 */
import type { Part, ReasoningPart, Turn } from '../../../canonical/request.ts';

/** Merges consecutive assistant turns, and joins each thinking text with its signature. */
export function withJoinedThinking(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  let assistantParts: Part[] | undefined;
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      assistantParts = undefined;
      joined.push(turn);
    } else if (assistantParts === undefined) {
      assistantParts = [...turn.parts];
      joined.push({ ...turn, parts: assistantParts });
    } else {
      for (const part of turn.parts) assistantParts.push(part);
    }
  }
  return joined.map((turn) =>
    turn.role === 'assistant' ? { ...turn, parts: joinThinking(turn.parts) } : turn,
  );
}

function joinThinking(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const start = isLoneSignature(part) ? joined.findLastIndex((one) => !isUnsigned(one)) + 1 : 0;
    const unsigned = isLoneSignature(part) ? joined.slice(start).filter(isUnsigned) : [];
    const [first] = unsigned;
    if (first === undefined) {
      joined.push(part);
    } else {
      const text = unsigned.map((part) => part.text).join('');
      joined.splice(start, unsigned.length, { ...first, text, providerData: part.providerData });
    }
  }
  return joined;
}

function isUnsigned(part: Part): part is ReasoningPart {
  return part.kind === 'reasoning' && part.providerData === undefined && !part.displayOnly;
}

/**
 * Whether the part is only a signature. Redacted thinking has no text either, but is complete, and
 * so is thinking that came in one member with its signature.
 */
function isLoneSignature(part: Part): boolean {
  const { providerData, providerDataAt } = part;
  return (
    part.kind === 'reasoning' &&
    part.text === '' &&
    providerDataAt === undefined &&
    providerData?.provider === 'anthropic' &&
    providerData.kind === 'signature'
  );
}
