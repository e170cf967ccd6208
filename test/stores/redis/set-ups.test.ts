// suite: services
/** Wrong options of a Redis store are refused at start-up, with the option and the remedy. */
import { describe, expect, it } from 'vitest';
import {
  redisIdempotencyStore,
  redisQuotaStore,
  redisRateLimiter,
} from '../../../src/stores/redis/index.ts';

const client = { send: () => Promise.resolve(null) };
const resending = { maxRetriesPerRequest: null, autoResendUnfulfilledCommands: true };
const ioRedis = { evalsha: client.send, eval: client.send };

describe('wrong options are refused', () => {
  it.each([
    [
      () => redisQuotaStore(JSON.parse('{"client":{}}')),
      'redisQuotaStore: options.client must be a node-redis or ioredis client, or an object with ' +
        'send(). Pass in the client that your app connected.',
    ],
    [
      () => redisIdempotencyStore(JSON.parse('{}')),
      'redisIdempotencyStore: options.client is missing, and must be a node-redis or ioredis',
    ],
    [
      () => redisQuotaStore({ client, prefix: 'a{b}' }),
      'redisQuotaStore: options.prefix must match /^[A-Za-z0-9._:-]{1,64}$/. Leave it out for the',
    ],
    [
      () => redisQuotaStore({ client: { ...ioRedis, ...{ options: resending } } }),
      'redisQuotaStore: options.client must not resend a call forever: with ' +
        'maxRetriesPerRequest null, also set autoResendUnfulfilledCommands to false',
    ],
    [() => redisQuotaStore({ client, endedTtlMs: 0 }), 'options.endedTtlMs must be a positive'],
    [
      () => redisRateLimiter({ client, prefix: '' }),
      'redisRateLimiter: options.prefix must match /^[A-Za-z0-9._:-]{1,64}$/. Leave it out for the',
    ],
    [
      () => redisQuotaStore({ client, ...JSON.parse('{"durability":"process"}') }),
      "options.durability must be 'replica-async' or 'durable'",
    ],
  ])('%#', (make, sentence) => {
    expect(make).toThrow(sentence);
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  });
});

it.each([
  { ...resending, autoResendUnfulfilledCommands: false },
  { ...resending, maxRetriesPerRequest: 20 },
])('an ioredis with the options %j is accepted', (options) => {
  expect(redisQuotaStore({ client: { ...ioRedis, ...{ options } } }).durability).toBe(
    'replica-async',
  );
});
