/**
 * The errors of calls that refer to something that they can't use. What is unknown, has expired or
 * belongs to another key gets the same error, in the words of the provider.
 */
import type { Reference } from '../../call.ts';
import { GatewayError, invalidRequest } from '../../errors.ts';

/** The ids of providers, and ours. Anything else is not repeated in a message. */
export const idSyntax: RegExp = /^[A-Za-z0-9_-]{1,128}$/;

/** A reference that is unknown, has expired, or belongs to another key. */
export function notFound(reference: Reference): GatewayError {
  return reference.kind === 'reply' ? replyNotFound(reference) : itemNotFound(reference);
}

function replyNotFound({ id, at }: Reference): GatewayError {
  return new GatewayError(
    'previous_response_not_found',
    `Previous response${named(id)} not found.`,
    { param: at },
  );
}

function itemNotFound({ id, element }: Reference): GatewayError {
  return new GatewayError(
    'item_not_found',
    `Item${named(id)} not found. Items are not persisted when \`store\` is set to false, and ` +
      'only for some time otherwise. Send items whole ' +
      '(AI SDK: `providerOptions.openai.store = false`), or remove this item from your input.',
    element === undefined ? {} : { param: element.member },
  );
}

export function storedReplyNotFound(id: string): GatewayError {
  return new GatewayError('response_not_found', `Response${named(id)} not found.`);
}

export function onlyItemsKept(id: string): GatewayError {
  return new GatewayError(
    'response_not_found',
    `Response${named(id)} can't be read again: its provider does not store responses, and the ` +
      'gateway keeps only items for later requests. It can be deleted.',
  );
}

export function keepsNoReplies({ at }: Reference): GatewayError {
  return new GatewayError(
    'previous_response_not_found',
    'This model keeps no conversations. Send the whole history as `input`.',
    { param: at },
  );
}

export function storedApart({ at }: Reference): GatewayError {
  return new GatewayError(
    'invalid_request',
    `\`${at}\` is not stored where the other items of this request are, so that no provider ` +
      'account has them all. Send the items whole.',
    { param: at, reason: 'references_in_two_accounts' },
  );
}

export function tooManyReferences(maximum: number, { at, element }: Reference): GatewayError {
  return invalidRequest(
    `The request refers to more than ${maximum} stored items. Send items whole.`,
    element?.member ?? at,
  );
}

export function itemsTooLarge(): GatewayError {
  return new GatewayError(
    'body_too_large',
    'The items that the request refers to are too large. Refer to fewer of them.',
  );
}

export function sealedElsewhere({ at }: Reference): GatewayError {
  return new GatewayError(
    'invalid_request',
    `\`${at}\` was encrypted by a provider account that does not serve this call, and can't be ` +
      'left out. Send the items that it stands for.',
    { param: at, reason: 'sealed_elsewhere' },
  );
}

/** An id of the expected form is as public as the name of a model. */
function named(id: string | undefined): string {
  return id !== undefined && idSyntax.test(id) ? ` with id '${id}'` : ' with this id';
}
