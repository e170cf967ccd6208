/** The models that the wildcards of a list stand for. */
import { isConfigurationError } from '../errors.ts';
import type { Price } from '../money.ts';
import type { Channel, Model } from '../ports/models/catalog.ts';
import { isWildcard, type ListedModel } from '../ports/models/listed-model.ts';
import { upstreamModelOf } from '../ports/models/model-defaults.ts';

/** Bounds the memory, because callers choose the names. */
const maxNames = 1_000;

/** Up to four segments. None is `.` or `..`, which HTTP clients resolve in a path. */
const nameSyntax =
  /^(?!\.{1,2}(?:\/|$))[\w.:-]{1,128}(?:\/(?!\.{1,2}(?:\/|$))[\w.:-]{1,128}){0,3}$/;

/**
 * What belongs to an account: models that OpenAI, Mistral and Google have tuned, endpoints and
 * accounts in a name, and resources of AWS.
 */
const ofAccount = /(?:^|\/)(?:ft:|arn:|(?:tunedModels|endpoints|accounts)\/)|:ft-/gi;

/**
 * Other spellings of a model that may be listed by itself, at another price; and a suffix by which
 * OpenRouter runs a search that is paid apart.
 */
const notItself = /(?:^|\/)(?:models|publishers|projects|locations|deployments)\/|:online$/i;

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
  if (!nameSyntax.test(name) || notItself.test(name)) return undefined;
  // Google's models have names of one segment, before which it accepts where they are.
  if (name.includes('/') && wildcard.channels.some(({ dialect }) => dialect === 'gemini')) {
    return undefined;
  }
  return isAllowed(name, wildcard) ? { wildcard, name } : undefined;
}

function fixedPart({ id }: ListedModel): string {
  return id.slice(0, -1);
}

/** A fine-tuned model is property of the account, and costs more than what it is made of. */
function isAllowed(name: string, wildcard: ListedModel): boolean {
  const patterns = wildcard.channels.map((channel) => upstreamModelOf(channel, wildcard));
  const isOfAccount = [wildcard.id, ...patterns].some((pattern) => bringsAccount(name, pattern));
  const allowed = isOfAccount ? wildcard.allow?.fine_tuned : true;
  return allowed === true || allowed?.models.includes(name) === true;
}

/** Whether the caller's part of a name makes it one of an account, and not the operator's part. */
function bringsAccount(name: string, pattern: string): boolean {
  const fixed = pattern.indexOf('*');
  const found = pattern.replace('*', () => name).matchAll(ofAccount);
  return [...found].some((match) => match.index + match[0].length > fixed);
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
