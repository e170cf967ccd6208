/** The platforms that host models. Nothing else in the gateway knows their names. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Channel } from '../ports/catalog.ts';
import type { Platform } from '../ports/platform.ts';
import { onAzure, placeOnAzure } from './azure.ts';
import { placeOnBedrock } from './bedrock/bedrock.ts';
import { onBedrock } from './bedrock/dialect.ts';
import { onVertex, placeOnVertex } from './vertex.ts';

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

/** The dialect as the upstreams of a channel's platform speak it. */
export function hostedDialect(
  dialect: Dialect,
  { platform, countModel }: Pick<Channel, 'platform' | 'countModel'>,
): Dialect {
  switch (platform?.name) {
    case 'azure':
      return onAzure(dialect, platform);
    case 'vertex':
      return onVertex(dialect, platform);
    case 'bedrock':
      return onBedrock(dialect, platform, countModel);
    default:
      return dialect;
  }
}
