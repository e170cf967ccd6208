/**
 * Where the models of each platform are, by its options. Apart from the dialects there, which
 * stores that read catalogs have no use for.
 */
import type { Channel } from '../ports/models/catalog.ts';
import type { Platform } from '../ports/models/platform.ts';
import { placeOnAzure } from './azure.ts';
import { placeOnBedrock } from './bedrock/bedrock.ts';
import { placeOnVertex } from './vertex.ts';

/** The members of a channel that its platform decides. */
export type Place = Pick<Channel, 'dialect' | 'baseUrl'>;

/** Undefined if the name is that of no platform. */
export function placeOf(platform: Platform): Place | undefined {
  switch (platform.name) {
    case 'azure':
      return placeOnAzure(platform);
    case 'vertex':
      return placeOnVertex(platform);
    case 'bedrock':
      return placeOnBedrock(platform);
    default:
      return undefined;
  }
}
