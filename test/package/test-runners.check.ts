/** The package in the tests of a host: Jest without a transform, ts-jest with NestJS, Vitest. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

describe('the packed package in tests of', () => {
  let consumer: Consumer;

  beforeAll(() => {
    consumer = installPacked({
      packages: {
        '@nestjs/common': '11.2.6',
        '@nestjs/core': '11.2.6',
        '@nestjs/platform-express': '11.2.6',
        '@nestjs/testing': '11.2.6',
        '@types/jest': '30.0.0',
        '@types/node': '20.19.43',
        jest: '30.5.2',
        'reflect-metadata': '0.2.2',
        rxjs: '7.8.2',
        'ts-jest': '29.4.15',
        typescript: '5.9.3',
        vitest: '4.1.12',
      },
      files: {
        'call-gateway.cjs': 'test/package/hosts/call-gateway.cjs',
        'runner.test.mjs': 'test/package/hosts/runner.test.mjs',
        'plain.spec.js': 'test/package/hosts/jest.test.cjs',
        nest: 'test/package/hosts/nest',
      },
    });
    consumer.write('jest.config.json', JSON.stringify({ transform: {}, roots: ['<rootDir>'] }));
  });

  afterAll(() => consumer.remove());

  const jest = (...args: readonly string[]): string =>
    consumer.run('node', 'node_modules/jest/bin/jest.js', '--ci', '--json', ...args);

  it('Jest, without a transform', () => {
    expect(jest('plain.spec.js')).toContain('"numPassedTests":1,');
  });

  it('ts-jest, in a NestJS app', () => {
    expect(jest('--config', 'nest/jest.config.json')).toContain('"numPassedTests":2,');
  });

  it('Vitest', () => {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json'];

    expect(consumer.run('node', ...vitest, 'runner.test.mjs')).toContain('"numPassedTests":1,');
  });
});
