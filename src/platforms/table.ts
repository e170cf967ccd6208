/** The platforms that host models. Nothing but this file and `places.ts` knows their names. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Channel } from '../ports/catalog.ts';
import { onAzure } from './azure.ts';
import { onBedrock } from './bedrock/bedrock.ts';
import { onVertex } from './vertex-dialect.ts';

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
