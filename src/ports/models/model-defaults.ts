/** Default values for what a model's record may leave out, shared by all code that reads models. */

import type { ApiKey } from '../keys/key-store.ts';
import type { DialectName } from './capabilities.ts';
import type { Channel, Model, ProtocolName } from './catalog.ts';
import { isWildcard } from './listed-model.ts';

const vendors: Readonly<Record<DialectName, string>> = {
  openai: 'OpenAI',
  gemini: 'Google',
  anthropic: 'Anthropic',
};

const textProtocols: readonly ProtocolName[] = ['chat', 'native', 'responses', 'messages'];
const imageProtocols: readonly ProtocolName[] = ['images'];

/** The id by which callers know the model. */
export function exactIdOf({ id, exactId = id }: Model): string {
  return exactId;
}

/** Whether a name in the record of a key stands for the model: its id, or an alias. */
export function isNamed({ id, exactId, aliases }: Model, name: string): boolean {
  return id === name || exactId === name || aliases?.includes(name) === true;
}

/** Whether the record of a key allows the model: its group, and its `models`. */
export function mayUse(key: Pick<ApiKey, 'group' | 'models'>, model: Model): boolean {
  return model.groups.includes(key.group) && isAmong(key.models, model);
}

/** Whether a model is one of these; all are, if none is named. */
export function isAmong(models: ApiKey['models'], model: Model): boolean {
  return models === undefined || models.some((name) => isNamed(model, name));
}

/** The channel's name for the model; `*` stands for the name of a wildcard's model. */
export function upstreamModelOf({ upstreamModel }: Channel, model: Pick<Model, 'id'>): string {
  return upstreamModel ?? (isWildcard(model) ? '*' : model.id);
}

/** The channel's priority; lower is tried first. */
export function priorityOf({ priority = 0 }: Channel): number {
  return priority;
}

/** The channel's share of the calls among channels of the same priority; 0 takes none. */
export function weightOf({ weight = 1 }: Channel): number {
  return weight;
}

/**
 * The APIs that offer the model. By default a model with a price per image makes images, and any
 * other writes text.
 */
export function protocolsOf({
  protocols,
  price,
}: Pick<Model, 'protocols' | 'price'>): readonly ProtocolName[] {
  return protocols ?? (price.per === 'image' ? imageProtocols : textProtocols);
}

/** The model's vendor. Default: the provider of its first channel. */
export function vendorOf({ id, vendor, channels }: Model): string {
  const [first] = channels;
  return vendor ?? (first === undefined ? id : (vendors[first.dialect] ?? first.dialect));
}
