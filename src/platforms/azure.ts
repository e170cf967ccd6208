/** OpenAI's and Anthropic's models on Azure: hosts, paths, keys and errors. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Channel } from '../ports/catalog.ts';
import type { AzurePlatform, HostedChannel } from '../ports/platform.ts';

/** The members of a channel whose models are hosted on Azure, to be spread into it. */
export function azure(options: Omit<AzurePlatform, 'name'>): HostedChannel {
  const platform: AzurePlatform = { name: 'azure', ...options };
  return { ...placeOnAzure(platform), platform };
}

export function placeOnAzure(platform: AzurePlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, resource, baseUrl } = platform;
  return kind === 'anthropic'
    ? {
        dialect: 'anthropic',
        baseUrl: `${baseUrl ?? `https://${resource}.services.ai.azure.com`}/anthropic/v1`,
      }
    : {
        dialect: 'openai',
        baseUrl: `${baseUrl ?? `https://${resource}.openai.azure.com`}/openai/v1`,
      };
}

export function onAzure(dialect: Dialect, { kind }: AzurePlatform): Dialect {
  if (kind === 'anthropic') return dialect;
  return { ...dialect, credential: (secret) => ({ 'api-key': secret }) };
}
