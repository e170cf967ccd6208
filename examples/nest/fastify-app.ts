/** NestJS on its Fastify platform, with the gateway at `/api/v1` and `/api/v1beta`. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { fastifyAdapter } from 'tollgate/fastify';
import { AppModule } from './app.module.js';
import { GATEWAY, GatewayModule, type GatewayModuleOptions } from './gateway.module.js';

export async function createApp(options: GatewayModuleOptions): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: AppModule, imports: [GatewayModule.forRootAsync(options)] },
    new FastifyAdapter(),
  );
  app.setGlobalPrefix('api');
  // The global prefix is for controllers only: the registration names it.
  await app.register(fastifyAdapter(app.get(GATEWAY)), { prefix: '/api' });
  // SIGTERM closes the app, and the gateway with it.
  app.enableShutdownHooks();
  return app;
}
