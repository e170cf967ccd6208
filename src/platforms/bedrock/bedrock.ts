/** Options of channels on Amazon Bedrock and Claude Platform on AWS, and where they lead. */
import { ConfigurationError } from '../../errors.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { BedrockPlatform, HostedChannel } from '../../ports/models/platform.ts';

type Kind = BedrockPlatform['kind'];
type BedrockDialect = NonNullable<BedrockPlatform['dialect']>;

interface Endpoint {
  /** The name of the service for which requests are signed. */
  readonly service: string;
  host(region: string): string;
  /** The path above those of the dialect; a dialect that is missing is not served. */
  readonly paths: Readonly<Partial<Record<BedrockDialect, string>>>;
}

/** As the clients of Anthropic and OpenAI have them in November 2026. */
const endpoints: Readonly<Record<Kind, Endpoint>> = {
  mantle: {
    service: 'bedrock-mantle',
    host: (region) => `bedrock-mantle.${region}.api.aws`,
    paths: { anthropic: '/anthropic/v1', openai: '/openai/v1' },
  },
  runtime: {
    service: 'bedrock',
    host: (region) => `bedrock-runtime.${region}.${domainOf(region)}`,
    paths: { anthropic: '', openai: '/openai/v1' },
  },
  anthropic: {
    service: 'aws-external-anthropic',
    host: (region) => `aws-external-anthropic.${region}.api.aws`,
    paths: { anthropic: '/v1' },
  },
};

function domainOf(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn';
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com';
}

/**
 * The members of a channel whose models are hosted on Bedrock, to be spread into it.
 *
 * @throws ConfigurationError that names the wrong option
 */
export function bedrock(options: Omit<BedrockPlatform, 'name'>): HostedChannel {
  const platform: BedrockPlatform = { name: 'bedrock', ...options };
  const problem = bedrockProblem(platform);
  if (problem === undefined) return { ...placeOnBedrock(platform), platform };
  throw new ConfigurationError(`bedrock(): ${problem.member} ${problem.message}.`);
}

const regionForm = /^[a-z]{2,8}(?:-[a-z0-9]+)+-\d+$/;
const workspaceForm = /^[!-~]{1,256}$/;

export interface BedrockProblem {
  readonly member: keyof BedrockPlatform;
  /** Completes a sentence that begins with the member. */
  readonly message: string;
}

export function bedrockProblem({
  kind,
  region,
  dialect = 'anthropic',
  workspaceId,
}: BedrockPlatform): BedrockProblem | undefined {
  if (!Object.hasOwn(endpoints, kind)) {
    return { member: 'kind', message: "must be 'mantle', 'runtime' or 'anthropic'" };
  }
  if (!regionForm.test(region)) {
    return { member: 'region', message: 'must be the name of a region of AWS, such as us-east-1' };
  }
  if (endpoints[kind].paths[dialect] === undefined) {
    const known = Object.keys(endpoints[kind].paths).join(' or ');
    return { member: 'dialect', message: `must be ${known} with this kind` };
  }
  if (kind === 'anthropic' && !workspaceForm.test(workspaceId ?? '')) {
    return { member: 'workspaceId', message: 'must be the id of the workspace: wrkspc_…' };
  }
  return kind === 'anthropic' || workspaceId === undefined
    ? undefined
    : { member: 'workspaceId', message: 'is for the kind anthropic alone; leave it out' };
}

export function placeOnBedrock(platform: BedrockPlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, region, dialect = 'anthropic', baseUrl } = platform;
  const { host, paths } = endpoints[kind];
  return { dialect, baseUrl: baseUrl ?? `https://${host(region)}${paths[dialect] ?? ''}` };
}

/**
 * The service for which requests are signed. AWS has Anthropic's paths on the host of the runtime,
 * too.
 */
export function serviceOf({ kind, baseUrl = '' }: BedrockPlatform): string {
  return /^https?:\/\/(?:[^/]+\.)?bedrock-runtime(?:-fips)?\./.test(baseUrl)
    ? 'bedrock'
    : endpoints[kind].service;
}
