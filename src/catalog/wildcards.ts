/** The models that the wildcards of a list stand for. */
import { isConfigurationError } from '../errors.ts';
import type { Price } from '../money.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import { isWildcard, type ListedModel } from '../ports/listed-model.ts';
import { upstreamModelOf } from '../ports/model-defaults.ts';

/** Bounds the memory, because callers choose the names. */
const maxNames = 1_000;

/** Up to four segments. None is `.` or `..`, which HTTP clients resolve in a path. */
const nameSyntax =
  /^(?!\.{1,2}(?:\/|$))[\w.:-]{1,128}(?:\/(?!\.{1,2}(?:\/|$))[\w.:-]{1,128}){0,3}$/;

/** OpenAI's and Mistral's, and Google's. */
const fineTuned = /(?:^|\/)(?:ft:|tunedModels\/)/i;

/**
 * Returns a function that finds the model of an id, or undefined if there are no wildcards. It
 * returns the same object for the same id as long as the id is among the last 1,000, because
 * gateways remember what they work out from it.
 */
export function wildcardsIn(
  models: readonly ListedModel[],
): ((modelId: string) => Model | undefined) | undefined {
  const wildcards = models.filter(isWildcard);
  if (wildcards.length === 0) return undefined;
  const known = new Map<string, Model>();
  return (modelId) => {
    const model = known.get(modelId) ?? modelOf(modelId, wildcards);
    if (model === undefined) return undefined;
    // Inserted again, so that the first entry is the least recently used one.
    known.delete(modelId);
    const [oldest] = known.size >= maxNames ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(modelId, model);
    return model;
  };
}

/** The wildcard with the longest fixed part that serves an id, and the name that it has there. */
export function wildcardFor(
  modelId: string,
  wildcards: readonly ListedModel[],
): { readonly wildcard: ListedModel; readonly name: string } | undefined {
  let wildcard: ListedModel | undefined;
  for (const one of wildcards) {
    const isLonger = one.id.length > (wildcard?.id.length ?? 0);
    if (isLonger && modelId.startsWith(fixedPart(one))) wildcard = one;
  }
  if (wildcard === undefined) return undefined;
  const name = modelId.slice(fixedPart(wildcard).length);
  return nameSyntax.test(name) && isAllowed(name, wildcard) ? { wildcard, name } : undefined;
}

function fixedPart({ id }: ListedModel): string {
  return id.slice(0, -1);
}

/** A fine-tuned model is property of the account, and costs more than what it is made of. */
function isAllowed(name: string, { allow }: ListedModel): boolean {
  const allowed = fineTuned.test(name) ? allow?.fine_tuned : true;
  return allowed === true || allowed?.models.includes(name) === true;
}

function modelOf(modelId: string, wildcards: readonly ListedModel[]): Model | undefined {
  const found = wildcardFor(modelId, wildcards);
  if (found === undefined) return undefined;
  const { wildcard, name } = found;
  const price = priceFor(name, wildcard);
  if (price === undefined) return undefined;
  const channels = wildcard.channels.map((channel): Channel => {
    const upstreamModel = upstreamModelOf(channel, wildcard).replace('*', () => name);
    return Object.assign({}, channel, { upstreamModel });
  });
  // Assigned, so that all have one hidden class, see `catalogOf`.
  return Object.assign({}, wildcard, { exactId: modelId, price, channels });
}

function priceFor(name: string, { price }: ListedModel): Price | undefined {
  if (typeof price !== 'function') return price;
  try {
    return price(name);
  } catch (error) {
    if (isConfigurationError(error)) return undefined;
    throw error;
  }
}
