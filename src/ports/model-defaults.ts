/** What a model's record leaves out: the defaults that every reader of models shares. */
import type { Channel, DialectName, Model, ProtocolName } from './catalog.ts';

const vendors: Readonly<Record<DialectName, string>> = {
  openai: 'OpenAI',
  gemini: 'Google',
  anthropic: 'Anthropic',
};

const textProtocols: readonly ProtocolName[] = ['chat', 'native'];
const imageProtocols: readonly ProtocolName[] = ['images'];

/** Lower is tried first. */
export function priorityOf({ priority = 0 }: Channel): number {
  return priority;
}

/** The channel's share of the calls among those of its priority; 0 takes none. */
export function weightOf({ weight = 1 }: Channel): number {
  return weight;
}

/** A model with a price per image makes images; any other writes text. */
export function protocolsOf({ protocols, price }: Model): readonly ProtocolName[] {
  return protocols ?? (price.per === 'image' ? imageProtocols : textProtocols);
}

/** Who makes the model: the provider of its first channel, where the record does not say. */
export function vendorOf({ id, vendor, channels }: Model): string {
  const [first] = channels;
  return vendor ?? (first === undefined ? id : (vendors[first.dialect] ?? first.dialect));
}
