/** Models on Amazon Bedrock: hosts, paths, signatures and errors. */
import type { Dialect } from '../../dialects/dialect.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { BedrockPlatform, HostedChannel } from '../../ports/platform.ts';

/** The members of a channel whose models are hosted on Bedrock, to be spread into it. */
export function bedrock(options: Omit<BedrockPlatform, 'name'>): HostedChannel {
  const platform: BedrockPlatform = { name: 'bedrock', ...options };
  return { ...placeOnBedrock(platform), platform };
}

export function placeOnBedrock(platform: BedrockPlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { region, dialect = 'anthropic', baseUrl } = platform;
  const host = baseUrl ?? `https://bedrock-mantle.${region}.api.aws`;
  return { dialect, baseUrl: dialect === 'anthropic' ? `${host}/anthropic/v1` : `${host}/v1` };
}

export function onBedrock(dialect: Dialect, _platform: BedrockPlatform): Dialect {
  return { ...dialect, credential: (secret) => ({ authorization: `Bearer ${secret}` }) };
}
