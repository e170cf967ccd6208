/**
 * Limits on the lists in what an upstream sends. Each part, block, choice and call costs far more
 * to read, to hold and to write than its bytes, and all of a document is handled in one turn.
 */
import { UpstreamError } from '../errors.ts';
import { items, type JsonValue, member } from '../json.ts';

/** Tool calls of one choice or reply. Far above real replies. */
const maxToolCalls = 10_000;
/** Parts or blocks of content in one document; proxies may send one for each token. */
const maxParts = 100_000;
/** Choices or candidates in one document. Providers make at most 128. */
const maxChoices = 10_000;

/** A shorter document can't have as many elements: each one takes a character and a comma. */
const minCheckedLength = 2 * maxChoices;

/** Checks the lists of a whole reply or of an event, whose text has this length. */
export function checkReplyLists(document: JsonValue, length: number): void {
  if (length < minCheckedLength) return;
  const choices = items(member(document, 'choices'));
  const candidates = items(member(document, 'candidates'));
  let parts = items(member(document, 'content')).length;
  if (choices.length > maxChoices || candidates.length > maxChoices) throw tooLarge();
  for (const choice of choices) {
    for (const name of ['message', 'delta'])
      parts += items(member(member(choice, name), 'content')).length;
  }
  for (const candidate of candidates) {
    parts += items(member(member(candidate, 'content'), 'parts')).length;
  }
  if (parts > maxParts) throw tooLarge();
}

export function checkToolCalls(calls: number): void {
  if (calls >= maxToolCalls) throw tooLarge();
}

function tooLarge(): UpstreamError {
  return new UpstreamError('body', 'event_too_large');
}
