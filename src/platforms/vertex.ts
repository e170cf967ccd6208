/** Models on Google Cloud's Vertex AI: the hosts of its locations. */

import type { Channel } from '../ports/models/catalog.ts';
import type { HostedChannel, VertexPlatform } from '../ports/models/platform.ts';
import { checkPlatform } from './check-platform.ts';

/** The members of a channel whose models are hosted on Vertex AI, to be spread into it. */
export function vertex(options: Omit<VertexPlatform, 'name'>): HostedChannel {
  checkPlatform('vertex', options, "{ kind: 'google', project: 'my-project' }");
  const platform: VertexPlatform = { name: 'vertex', ...options };
  return { ...placeOnVertex(platform), platform };
}

const dialectOf = { google: 'gemini', anthropic: 'anthropic', openapi: 'openai' } as const;

export function placeOnVertex(platform: VertexPlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, project, location = 'global', baseUrl = `${hostOf(location)}/v1` } = platform;
  const place = project === undefined ? '' : `/projects/${project}/locations/${location}`;
  const endpoint = kind === 'openapi' ? '/endpoints/openapi' : '';
  return { dialect: dialectOf[kind], baseUrl: `${baseUrl}${place}${endpoint}` };
}

function hostOf(location: string): string {
  switch (location) {
    case 'global':
      return 'https://aiplatform.googleapis.com';
    case 'us':
    case 'eu':
      return `https://aiplatform.${location}.rep.googleapis.com`;
    default:
      return `https://${location}-aiplatform.googleapis.com`;
  }
}
