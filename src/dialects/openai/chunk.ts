/** What one chunk of a chat stream says, where its bytes alone do not tell. */
import { items, type JsonValue, member } from '../../json.ts';
import { charsPerAudioToken, imageTokens } from '../content-count.ts';
import { isFilled } from '../is-filled.ts';

/** Whether it holds content or a finish: not only a role, a filter's report or usage. */
export function hasContentOrFinish(chunk: JsonValue): boolean {
  return items(member(chunk, 'choices')).some(
    (choice) =>
      hasFinished(choice) ||
      isFilled(member(choice, 'delta') ?? null) ||
      isFilled(member(choice, 'message') ?? null) ||
      isFilled(member(choice, 'text') ?? null),
  );
}

/** Whether the choice ends here. */
export function hasFinished(choice: JsonValue): boolean {
  const reason = member(choice, 'finish_reason');
  return typeof reason === 'string' && reason !== '';
}

/** What the images and the sound of a chunk count, which is not their bytes. */
export function mediaTokens(chunk: JsonValue): number {
  let tokens = 0;
  for (const choice of items(member(chunk, 'choices'))) {
    const said = member(choice, 'delta') ?? member(choice, 'message');
    tokens += items(member(said, 'images')).length * imageTokens;
    const sound = member(member(said, 'audio'), 'data');
    if (typeof sound === 'string') tokens += Math.ceil(sound.length / charsPerAudioToken);
  }
  return tokens;
}
