/** The gateway as a NestJS module: a provider that the app can inject, and that closes with it. */
import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Module,
  type ModuleMetadata,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { Gateway } from 'tollgate';

/** Injects the gateway: `@Inject(GATEWAY) private readonly gateway: Gateway`. */
export const GATEWAY = Symbol('GATEWAY');

/** Creates the gateway, with what it injects: a config service, a database pool. */
export type GatewayModuleOptions = Pick<ModuleMetadata, 'imports'> &
  Pick<FactoryProvider<Gateway>, 'inject' | 'useFactory'>;

@Module({})
export class GatewayModule implements OnModuleDestroy {
  constructor(@Inject(GATEWAY) private readonly gateway: Gateway) {}

  static forRootAsync({ imports = [], ...factory }: GatewayModuleOptions): DynamicModule {
    return {
      // Not global: Nest destroys global modules last, after those whose stores the gateway needs.
      module: GatewayModule,
      imports,
      providers: [{ provide: GATEWAY, ...factory }],
      exports: [GATEWAY],
    };
  }

  /**
   * Runs while the server still answers, before the modules that this one imports are destroyed:
   * running calls get 20 s, new ones a 503 in the format of their API.
   */
  async onModuleDestroy(): Promise<void> {
    await this.gateway.close({ drainMs: 20_000 });
  }
}
