/** The kinds of calls of the fault matrix, by their names in `test/support/models.ts`. */
import type { Kind as RequestKind } from '../support/models.ts';
import type { Kind } from './row.ts';

/** A fault of a port does not depend on the form of a reply, so these are not all kinds. */
export type PortKind = Exclude<
  Kind,
  | 'responses'
  | 'responses_stream'
  | 'messages'
  | 'messages_stream'
  | 'embeddings'
  | 'native_embeddings'
>;

/** See {@link PortKind}. */
export const portKinds: readonly PortKind[] = [
  'chat',
  'chat_stream',
  'image',
  'native',
  'native_stream',
];

/** The same kind by its name there. */
export const requestKinds: Readonly<Record<PortKind, RequestKind>> = {
  chat: 'chat',
  chat_stream: 'chatStream',
  image: 'image',
  native: 'native',
  native_stream: 'nativeStream',
};

/** The cost of a whole reply: 10 and 5 tokens, or one image. */
export const costNanos: Readonly<Record<RequestKind, bigint>> = {
  chat: 20n,
  chatStream: 20n,
  image: 500n,
  native: 20n,
  nativeStream: 20n,
};
