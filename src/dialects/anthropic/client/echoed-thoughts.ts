/**
 * Puts thoughts together again that callers echo in the pieces of a stream: their text first, their
 * signature behind it, each perhaps in a message of its own.
 */
import type { Part, ReasoningPart, Turn } from '../../../canonical/request.ts';

/** The turns, neighbouring ones of the assistant as one, each thought with its own signature. */
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

/** A hidden thought has no text either, but is one by itself. */
function isLoneSignature(part: Part): boolean {
  const { providerData } = part;
  return (
    part.kind === 'reasoning' &&
    part.text === '' &&
    providerData?.provider === 'anthropic' &&
    providerData.kind === 'signature'
  );
}
