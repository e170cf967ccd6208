/** The reasoning that OpenAI refuses: changed, or without the item that follows it. */
import { type JsonObject, type JsonValue, member } from '../../src/json.ts';
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import { openaiError } from '../../src/testing/providers/provider.ts';
import { openaiHeaders } from '../../src/testing/providers/recordings.ts';
import { inputItems, isCall, seal } from '../../src/testing/providers/responses.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';

/** OpenAI's refusal of a request for a response or for a compaction, or undefined. */
export function refusedByResponses(call: RecordedCall): Script | undefined {
  const input = inputItems(member(call.json(), 'input'));
  for (const [index, item] of input.entries()) {
    if (!isReasoning(item)) continue;
    const refusal = refusedReasoning(item, input[index + 1]);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function refusedReasoning(item: JsonObject, next: JsonObject | undefined): Script | undefined {
  const id = String(member(item, 'id') ?? '');
  const sealed = member(item, 'encrypted_content') ?? null;
  if (sealed !== null && !isSealed(sealed)) {
    const message = `The encrypted content for item ${id} could not be verified.`;
    return refused(message, { param: 'input', code: 'invalid_encrypted_content' });
  }
  const isFollowed =
    isCall(next) ||
    isReasoning(next) ||
    member(next, 'role') === 'assistant' ||
    /^(?:fc|ctc|msg)_/.test(referenceOf(next));
  if (isFollowed) return undefined;
  return refused(
    `Item '${id}' of type 'reasoning' was provided without its required following item.`,
  );
}

function isReasoning(item: JsonObject | undefined): boolean {
  return member(item, 'type') === 'reasoning' || referenceOf(item).startsWith('rs_');
}

/** The id of the item that is referred to, which begins with its kind; empty if none is. */
function referenceOf(item: JsonObject | undefined): string {
  const isReference =
    member(item, 'type') === 'item_reference' ||
    (member(item, 'type') === undefined && member(item, 'role') === undefined);
  return isReference ? String(member(item, 'id') ?? '') : '';
}

function isSealed(content: JsonValue): boolean {
  const [, text = ''] = /^gAAAAAB([\w-]+)_[\w-]{43}$/.exec(String(content)) ?? [];
  return content === seal(Buffer.from(text, 'base64url').toString());
}

function refused(
  message: string,
  details: { readonly param: string; readonly code?: string } = { param: 'input' },
): Script {
  return openaiError(400, message, details, openaiHeaders);
}
