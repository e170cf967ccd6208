/** The kinds of calls of the matrix, as the scene of `test/stages` knows them. */
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

/** What a whole reply costs: 10 and 5 tokens, or one image. */
export const costNanos: Readonly<Record<SceneKind, bigint>> = {
  chat: 20n,
  chatStream: 20n,
  image: 500n,
  native: 20n,
  nativeStream: 20n,
};
