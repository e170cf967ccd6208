/**
 * Rejoins thinking blocks that callers echo in the pieces of a stream: text first and the signature
 * later, possibly in separate messages.
 */
import type { Part, ReasoningPart, Turn } from '../../../canonical/request.ts';

/** Merges consecutive assistant turns, and joins each thinking text with its signature. */
export function withWholeThoughts(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  let spoken: Part[] | undefined;
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      spoken = undefined;
      joined.push(turn);
    } else if (spoken === undefined) {
      spoken = [...turn.parts];
      joined.push({ ...turn, parts: spoken });
    } else {
      for (const part of turn.parts) spoken.push(part);
    }
  }
  return joined.map((turn) =>
    turn.role === 'assistant' ? { ...turn, parts: wholeThoughts(turn.parts) } : turn,
  );
}

function wholeThoughts(parts: readonly Part[]): readonly Part[] {
  const whole: Part[] = [];
  for (const part of parts) {
    const begun = isLoneSignature(part) ? whole.findLastIndex((one) => !isUnsigned(one)) + 1 : 0;
    const thoughts = isLoneSignature(part) ? whole.slice(begun).filter(isUnsigned) : [];
    const [first] = thoughts;
    if (first === undefined) {
      whole.push(part);
    } else {
      const text = thoughts.map((thought) => thought.text).join('');
      whole.splice(begun, thoughts.length, { ...first, text, providerData: part.providerData });
    }
  }
  return whole;
}

function isUnsigned(part: Part): part is ReasoningPart {
  return part.kind === 'reasoning' && part.providerData === undefined;
}

/** Whether the part is only a signature. Redacted thinking has no text either, but is complete. */
function isLoneSignature(part: Part): boolean {
  const { providerData } = part;
  return (
    part.kind === 'reasoning' &&
    part.text === '' &&
    providerData?.provider === 'anthropic' &&
    providerData.kind === 'signature'
  );
}
