/**
 * What a model that offers embeddings must have: a price for tokens, and one upstream model.
 * Vectors of two models can't be compared, and nothing in a reply shows which one made them.
 */
import type { Model } from '../ports/catalog.ts';
import { protocolsOf } from '../ports/model-defaults.ts';

/** A member that is wrong, and what to do about it. */
export interface EmbeddingProblem {
  readonly member: 'price' | 'fallbacks' | 'channels';
  readonly problem: string;
}

/** What is wrong with a model that offers embeddings; undefined for all other models. */
export function embeddingProblem(model: Model): EmbeddingProblem | undefined {
  const { id, price, channels, fallbacks = [], sameVectors = false } = model;
  if (!protocolsOf(model).includes('embeddings')) return undefined;
  if (price.per === 'image') {
    return {
      member: 'price',
      problem: 'embeddings have no price per image. Give the model a price per token.',
    };
  }
  if (sameVectors) return undefined;
  if (fallbacks.length > 0) {
    return { member: 'fallbacks', problem: `a fallback ${otherVectors}` };
  }
  const upstreamModels = new Set(channels.map(({ upstreamModel = id }) => upstreamModel));
  if (upstreamModels.size < 2) return undefined;
  const served = [...upstreamModels].join(' and ');
  return {
    member: 'channels',
    problem: `its channels serve ${served}, and another model ${otherVectors}`,
  };
}

const otherVectors =
  'makes different vectors, which would corrupt an index unnoticed. Use one upstream model, or ' +
  'state sameVectors: true if these are names of the same one.';
