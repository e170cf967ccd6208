/** Models on Google Cloud's Vertex AI: hosts, paths, tokens and errors. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Channel } from '../ports/catalog.ts';
import type { HostedChannel, VertexPlatform } from '../ports/platform.ts';

/** The members of a channel whose models are hosted on Vertex AI, to be spread into it. */
export function vertex(options: Omit<VertexPlatform, 'name'>): HostedChannel {
  const platform: VertexPlatform = { name: 'vertex', ...options };
  return { ...placeOnVertex(platform), platform };
}

export function placeOnVertex(platform: VertexPlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { project, location = 'global', baseUrl = 'https://aiplatform.googleapis.com' } = platform;
  const place = `${baseUrl}/v1/projects/${project}/locations/${location}`;
  return { dialect: 'gemini', baseUrl: `${place}/publishers/google` };
}

export function onVertex(dialect: Dialect, _platform: VertexPlatform): Dialect {
  return { ...dialect, credential: (secret) => ({ authorization: `Bearer ${secret}` }) };
}
