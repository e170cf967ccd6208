/** NestJS on its Express platform, with the gateway at `/api/v1` and `/api/v1beta`. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { expressAdapter } from 'tollgate/express';
import { AppModule } from './app.module.js';
import { GATEWAY, GatewayModule, type GatewayModuleOptions } from './gateway.module.js';

export async function createApp(options: GatewayModuleOptions): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>({
    module: AppModule,
    imports: [GatewayModule.forRootAsync(options)],
  });
  app.setGlobalPrefix('api');
  // `app.use` before `listen`, so that it runs before Nest's body parsers, which `listen` adds. The
  // global prefix is for controllers only: the mount names it.
  app.use('/api', expressAdapter(app.get(GATEWAY)));
  // SIGTERM closes the app, and the gateway with it.
  app.enableShutdownHooks();
  return app;
}
