/**
 * The NestJS examples, compiled and run with the packed package: as CommonJS with Nest 11 and as
 * ES modules with Nest 12, on both platforms.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

const tsconfig = {
  compilerOptions: {
    target: 'ES2022',
    module: 'NodeNext',
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    rootDir: 'src',
    outDir: 'built',
  },
  include: ['src'],
};

describe.each([
  { version: '11.2.6', type: 'commonjs' },
  { version: '12.5.0', type: 'module' },
])('the NestJS examples with Nest $version, as $type', ({ version, type }) => {
  let consumer: Consumer;

  beforeAll(() => {
    const packages = ['common', 'core', 'platform-express', 'platform-fastify'];
    consumer = installPacked({
      packages: {
        ...Object.fromEntries(packages.map((name) => [`@nestjs/${name}`, version])),
        '@types/node': '20.19.43',
        'reflect-metadata': '0.2.2',
        rxjs: '7.8.2',
        typescript: '5.9.3',
      },
      files: { src: 'examples/nest', 'nest-app.mjs': 'test/package/hosts/nest-app.mjs' },
    });
    consumer.write('tsconfig.json', JSON.stringify(tsconfig));
    consumer.write('src/package.json', JSON.stringify({ type }));
    consumer.run('node', 'node_modules/typescript/bin/tsc');
    consumer.write('built/package.json', JSON.stringify({ type }));
  });

  afterAll(() => consumer.remove());

  it.each(['express', 'fastify'])('serve calls and shut down on the platform %s', (platform) => {
    expect(consumer.run('node', 'nest-app.mjs', platform)).toBe('');
  });
});
