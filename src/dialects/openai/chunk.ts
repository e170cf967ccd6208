/** Reads the content of one parsed chunk of a chat stream. */
import { items, type JsonValue, member } from '../../json.ts';
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
