/**
 * What a list of models must be before a gateway serves it; each refusal names the model and the
 * cure.
 */
import { ConfigurationError } from '../../errors.ts';
import type { Price } from '../../money.ts';
import type { Channel, Model, ProtocolName, Timeouts } from '../../ports/catalog.ts';
import { isNanos } from '../../ports/quota-input.ts';

const protocolNames: ReadonlySet<ProtocolName> = new Set(['chat', 'images', 'native']);

/** @throws ConfigurationError at the first model that can't be served as it is */
export function checkModels(models: readonly Model[]): void {
  const names = new Set<string>();
  const accounts = new Map<string, Channel>();
  for (const model of models) {
    checkName(model, names);
    checkFigures(model);
    checkPrice(model);
    for (const channel of model.channels) {
      checkChannel(model, channel);
      checkAccount(model, channel, accounts);
    }
    if (new Set(model.channels.map((channel) => channel.id)).size < model.channels.length) {
      refuse(model, 'two of its channels have one id. Give each account its own.');
    }
  }
}

function checkName(model: Model, names: Set<string>): void {
  for (const name of [model.id, ...(model.aliases ?? [])]) {
    if (!isText(name)) {
      refuse(model, 'ids and aliases must be non-empty, without control characters.');
    }
    if (names.has(name)) {
      refuse(model, `the id or alias "${name}" is taken. Ids and aliases share one namespace.`);
    }
    names.add(name);
  }
  if (!model.protocols.every((protocol) => protocolNames.has(protocol))) {
    refuse(model, "protocols must be of 'chat', 'images' and 'native'.");
  }
}

function checkFigures(model: Model): void {
  for (const figure of ['maxOutputTokens', 'contextTokens', 'createdAtSeconds'] as const) {
    const value = model[figure];
    if (value !== undefined && !isPositiveInteger(value)) {
      refuse(model, `${figure} must be a positive integer. Leave it out if it is not known.`);
    }
  }
  checkTimeouts(model, model.timeouts);
}

function checkPrice(model: Model): void {
  const problem = priceProblem(model.price);
  if (problem !== undefined) refuse(model, problem);
}

function priceProblem(price: Price | undefined): string | undefined {
  switch (price?.per) {
    case 'nothing':
      return undefined;
    case 'token': {
      const { inputPerMillionNanos, outputPerMillionNanos, cachedInputPerMillionNanos } = price;
      const cached = cachedInputPerMillionNanos ?? 0n;
      return [inputPerMillionNanos, outputPerMillionNanos, cached].every(isNanos)
        ? undefined
        : 'a token price must be in bigint nanos per million tokens, 0n to 2^53 − 1.';
    }
    case 'image':
      if (price.rows.length === 0)
        return 'an image price needs a row. One without a size fits all.';
      return price.rows.every((row) => isNanos(row.nanos))
        ? undefined
        : 'an image price must be in bigint nanos, 0n to 2^53 − 1.';
    default:
      return "it needs a price, per 'token' or 'image'. A free one says { per: 'nothing' }.";
  }
}

function checkChannel(model: Model, channel: Channel): void {
  const problem = channelProblem(channel);
  if (problem !== undefined) refuse(model, `channel "${channel.id}": ${problem}`);
  checkTimeouts(model, channel.timeouts);
}

function channelProblem(channel: Channel): string | undefined {
  if (!isText(channel.id)) return 'an id must be non-empty, without control characters.';
  if (!isBaseUrl(channel.baseUrl)) {
    return 'baseUrl must be an http or https URL without user, query and fragment.';
  }
  if (channel.upstreamModel !== undefined && !isText(channel.upstreamModel)) {
    return 'upstreamModel must be non-empty, without control characters; it may be left out.';
  }
  if (!Number.isFinite(channel.priority)) return 'priority must be a number; lower is tried first.';
  if (!Number.isFinite(channel.weight) || channel.weight < 0) {
    return 'weight must be 0 or above; 0 takes no calls.';
  }
  if (channel.maxPriceNanos !== undefined && !isNanos(channel.maxPriceNanos)) {
    return 'maxPriceNanos must be a bigint from 0n to 2^53 − 1. Leave it out for no bound.';
  }
  return undefined;
}

/** One channel id is one upstream account: its health and its limits are shared between models. */
function checkAccount(model: Model, channel: Channel, accounts: Map<string, Channel>): void {
  const known = accounts.get(channel.id);
  if (known === undefined) {
    accounts.set(channel.id, channel);
    return;
  }
  for (const member of ['dialect', 'baseUrl', 'credential'] as const) {
    if (known[member] === channel[member]) continue;
    refuse(
      model,
      `channel "${channel.id}" has another ${member} than under another model. One id is one ` +
        'account: make them agree, or use two ids.',
    );
  }
}

function checkTimeouts(model: Model, timeouts: Partial<Timeouts> = {}): void {
  for (const [name, value] of Object.entries(timeouts)) {
    if (!isPositiveInteger(value)) {
      refuse(model, `timeouts.${name} must be a positive integer of ms. Leave it out for ours.`);
    }
  }
}

function isBaseUrl(text: string): boolean {
  // `URL` forgets an empty query or fragment, and with it a slip of the pen.
  if (!URL.canParse(text) || /[?#]/.test(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function isText(text: string): boolean {
  return typeof text === 'string' && text !== '' && !/\p{Cc}/u.test(text);
}

function isPositiveInteger(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function refuse({ id }: Model, sentence: string): never {
  throw new ConfigurationError(`Model "${id}": ${sentence}`);
}
