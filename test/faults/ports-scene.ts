/** The kinds of calls of the matrix, by the names of the scene of `test/stages`. */
import type { Kind as SceneKind } from '../stages/scene-models.ts';
import type { Kind } from './row.ts';

/** The same kind by its name there. */
export const sceneKinds: Readonly<Record<Kind, SceneKind>> = {
  chat: 'chat',
  chat_stream: 'chatStream',
  image: 'image',
  native: 'native',
  native_stream: 'nativeStream',
};

/** The cost of a whole reply: 10 and 5 tokens, or one image. */
export const costNanos: Readonly<Record<SceneKind, bigint>> = {
  chat: 20n,
  chatStream: 20n,
  image: 500n,
  native: 20n,
  nativeStream: 20n,
};
