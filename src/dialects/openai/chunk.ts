/** Reads the content of one parsed chunk of a chat stream. */
import { items, type JsonValue, member } from '../../json.ts';
import { charsPerAudioToken, imageTokens } from '../content-count.ts';
import { isFilled } from '../is-filled.ts';

/**
 * Returns whether the chunk holds content or a finish, and not only a role, a filter's report or
 * usage.
 */
export function hasContentOrFinish(chunk: JsonValue): boolean {
  return items(member(chunk, 'choices')).some(
    (choice) =>
      hasFinished(choice) ||
      isFilled(member(choice, 'delta') ?? null) ||
      isFilled(member(choice, 'message') ?? null) ||
      isFilled(member(choice, 'text') ?? null),
  );
}

/** Returns whether the choice ends with this chunk. */
export function hasFinished(choice: JsonValue): boolean {
  const reason = member(choice, 'finish_reason');
  return typeof reason === 'string' && reason !== '';
}

/** Counts the tokens of images and audio in a chunk, which do not depend on their bytes alone. */
export function mediaTokens(chunk: JsonValue): number {
  let tokens = 0;
  for (const choice of items(member(chunk, 'choices'))) {
    const message = member(choice, 'delta') ?? member(choice, 'message');
    tokens += items(member(message, 'images')).length * imageTokens;
    const audioData = member(member(message, 'audio'), 'data');
    if (typeof audioData === 'string') tokens += Math.ceil(audioData.length / charsPerAudioToken);
  }
  return tokens;
}
