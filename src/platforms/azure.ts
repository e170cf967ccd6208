/** OpenAI's and Anthropic's models on Azure: their hosts. */
import type { Channel } from '../ports/models/catalog.ts';
import type { AzureOptions, AzurePlatform, HostedChannel } from '../ports/models/platform.ts';
import { checkPlatform } from './check-platform.ts';

/**
 * The members of a channel whose models are hosted on Azure, to be spread into it:
 * `{ id: 'eu', credential, ...azure({ kind: 'v1', resource: 'contoso', deployment: 'gpt-eu' }) }`.
 */
export function azure(options: AzureOptions): HostedChannel {
  checkPlatform('azure', options, "{ kind: 'v1', resource: 'contoso' }");
  const { deployment, ...place } = options;
  const platform: AzurePlatform = { name: 'azure', ...place };
  const named = deployment === undefined ? {} : { upstreamModel: deployment };
  return { ...placeOnAzure(platform), platform, ...named };
}

export function placeOnAzure(platform: AzurePlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, resource, baseUrl } = platform;
  if (kind === 'anthropic') {
    const host = baseUrl ?? `https://${resource}.services.ai.azure.com`;
    return { dialect: 'anthropic', baseUrl: `${host}/anthropic/v1` };
  }
  const host = baseUrl ?? `https://${resource}.openai.azure.com`;
  const version = isOnlyV1(platform) ? '/v1' : '';
  return { dialect: 'openai', baseUrl: `${host}/openai${version}` };
}

/** None of its paths names a version of the API, so that all are below one base URL. */
export function isOnlyV1({ kind, kinds = {} }: AzurePlatform): boolean {
  return [kind, ...Object.values(kinds)].every((one) => one === 'v1');
}
