/** A NestJS app's own tests, under ts-jest with `moduleResolution: node10`. */
import 'reflect-metadata';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  createGateway,
  type Gateway,
  issueKey,
  memoryKeyStore,
  memoryQuotaStore,
  money,
  staticCatalog,
  tokenPrice,
} from 'tollgate';
import { expressAdapter } from 'tollgate/express';
import { type FakeUpstream, startFakeUpstream } from 'tollgate/testing';

@Controller()
class HealthController {
  @Get('/health')
  health(): { ok: boolean } {
    return { ok: true };
  }
}

@Module({ controllers: [HealthController] })
class AppModule {}

describe('an app with a gateway', () => {
  const key = issueKey({ group: 'staff', limitNanos: money('1'), period: 'month' });
  let upstream: FakeUpstream;
  let gateway: Gateway;
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    upstream = await startFakeUpstream();
    gateway = createGateway({
      keys: memoryKeyStore({ keys: [key] }),
      quota: memoryQuotaStore(),
      catalog: staticCatalog([
        {
          id: 'model',
          groups: ['staff'],
          price: tokenPrice({ input: '0.15', output: '0.60' }),
          maxOutputTokens: 1_000,
          channels: [
            {
              id: 'channel',
              dialect: 'openai',
              baseUrl: upstream.openaiBaseUrl,
              credential: 'secret',
            },
          ],
        },
      ]),
    });
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = module.createNestApplication({ logger: false });
    app.use(expressAdapter(gateway));
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(async () => {
    await gateway.close();
    await app.close();
    await upstream.close();
  });

  it('serves calls', async () => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Hello.' }] }),
    });

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
  });

  it('keeps its own routes', async () => {
    const response = await fetch(`${url}/health`);

    expect(await response.json()).toEqual({ ok: true });
  });
});
