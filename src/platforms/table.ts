/** Loads the code of the platforms that the channels of a gateway are on. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Channel, Model } from '../ports/models/catalog.ts';
import type { Platform } from '../ports/models/platform.ts';

/** Returns a dialect as the upstreams of a channel's platform speak it. */
type Host = (dialect: Dialect, channel: HostedBy) => Dialect;

type HostedBy = Pick<Channel, 'platform' | 'countModel'>;

const loaders: Readonly<Record<Platform['name'], () => Promise<Host>>> = {
  azure: async () => {
    const { onAzure } = await import('./azure-dialect.ts');
    return (dialect, { platform }) =>
      platform?.name === 'azure' ? onAzure(dialect, platform) : dialect;
  },
  vertex: async () => {
    const { onVertex } = await import('./vertex-dialect.ts');
    return (dialect, { platform }) =>
      platform?.name === 'vertex' ? onVertex(dialect, platform) : dialect;
  },
  bedrock: async () => {
    const { onBedrock } = await import('./bedrock/dialect.ts');
    return (dialect, { platform, countModel }) =>
      platform?.name === 'bedrock' ? onBedrock(dialect, platform, countModel) : dialect;
  },
};

export class Platforms {
  readonly #loaded = new Map<Platform['name'], Host>();

  /** Undefined if what the channels of a model need is loaded. */
  load({ channels }: Pick<Model, 'channels'>): Promise<unknown> | undefined {
    const names = channels.flatMap(({ platform }) =>
      platform === undefined ? [] : [platform.name],
    );
    const missing = [...new Set(names)].filter((name) => !this.#loaded.has(name));
    return missing.length === 0 ? undefined : Promise.all(missing.map((name) => this.#load(name)));
  }

  /** The dialect as the upstreams of the channel speak it, whose platform is loaded. */
  host(dialect: Dialect, channel: HostedBy): Dialect {
    const { platform } = channel;
    if (platform === undefined) return dialect;
    return this.#loaded.get(platform.name)?.(dialect, channel) ?? dialect;
  }

  async #load(name: Platform['name']): Promise<void> {
    this.#loaded.set(name, await loaders[name]());
  }
}
