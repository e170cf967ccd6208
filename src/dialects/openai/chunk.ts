/** What one chunk of a chat stream says, where its bytes alone do not tell. */
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { charsPerAudioToken, imageTokens } from '../content-count.ts';

/** Whether it holds content or a finish: not only a role, a filter's report or usage. */
export function saysSomething(chunk: JsonValue): boolean {
  return items(member(chunk, 'choices')).some(
    (choice) =>
      hasFinished(choice) ||
      isContent(member(choice, 'delta')) ||
      isContent(member(choice, 'message')) ||
      isFilled(member(choice, 'text') ?? null),
  );
}

/** Whether the choice ends here. */
export function hasFinished(choice: JsonValue): boolean {
  const reason = member(choice, 'finish_reason');
  return typeof reason === 'string' && reason !== '';
}

function isContent(delta: JsonValue | undefined): boolean {
  return (
    isJsonObject(delta) &&
    Object.entries(delta).some(([name, value]) => name !== 'role' && isFilled(value))
  );
}

function isFilled(value: JsonValue): boolean {
  if (typeof value === 'string' || Array.isArray(value)) return value.length > 0;
  return isJsonObject(value) && Object.keys(value).length > 0;
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
