/** Estimates the tokens of a prompt that no upstream has counted. */
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, PromptSize } from '../../call.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { type Hold, promptTokens } from './hold.ts';

/**
 * English and code have about this many tokens per byte. The hold, which is an upper bound, assumes
 * more.
 */
const maxTokensPerByte = 0.25;

/** The estimated tokens of a prompt, capped at what its hold covers. */
export function estimatedPrompt(call: Call, model: Model, hold: Hold): number {
  const { prompt } = call.demand;
  // The same prompt costs the same, whether or not its reply is streamed.
  const textBytes = Math.max(0, prompt.textBytes - framingMemberBytes(call));
  return Math.min(estimatedTokens({ ...prompt, textBytes }, model), hold.inputTokens);
}

const framingNames: ReadonlySet<string> = new Set(['stream', 'stream_options']);

/** The bytes of these members, with the comma and the space that separate each from another. */
function framingMemberBytes({ tape }: Call): number {
  let bytes = 0;
  let before = none;
  for (const member of tape.members(root)) {
    if (framingNames.has(tape.name(member))) {
      if (before !== none) bytes += tape.end(member) - tape.end(before);
      else bytes += startAfter(tape, member) - tape.nameStart(member);
    }
    before = member;
  }
  return bytes;
}

/** Where the next member starts; of the last one, its own end. */
function startAfter(tape: Tape, member: Value): number {
  const next = tape.after(member);
  return next < tape.after(root) ? tape.nameStart(next) : tape.end(member);
}

export function estimatedTokens(prompt: PromptSize, model: Model): number {
  const tokensPerByte = Math.min(model.tokensPerByte ?? maxTokensPerByte, maxTokensPerByte);
  return promptTokens(prompt, { ...model, tokensPerByte });
}
