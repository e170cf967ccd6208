// suite: slow
/** Invalid mounts are refused when the adapter is created, not at the first call. */
import { expect, it } from 'vitest';
import { expressAdapter, expressErrorHandler } from '../../adapters/express.ts';
import { fetchAdapter } from '../../adapters/fetch.ts';
import { koaAdapter } from '../../adapters/koa.ts';
import { nodeAdapter } from '../../adapters/node.ts';
import { scriptedGateway } from '../../src/testing/contracts/adapter.ts';
import { untyped } from '../stages/ports/failing.ts';

const adapters = Object.entries({
  expressAdapter,
  expressErrorHandler,
  fetchAdapter,
  koaAdapter,
  nodeAdapter,
});

const noGateways = [undefined, null, 5, () => {}, {}, { owns: () => true, refuse: () => {} }];
const noPaths = ['', '/', 'llm', '/llm/', 'https://a/llm', '//llm', '/llm?x', '/l m', null, 5];

it.each(adapters)('%s refuses an invalid gateway', (name, adapter) => {
  for (const gateway of noGateways) {
    const refused = () => adapter(untyped(gateway)());

    expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
    expect(refused).toThrow(
      `${name}: gateway must be an object with owns(), handle(), refuse(). createGateway() creates`,
    );
  }
});

it.each(adapters)('%s refuses an invalid basePath', (name, adapter) => {
  for (const basePath of noPaths) {
    const refused = () => adapter(scriptedGateway(), untyped({ basePath })());

    expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
    expect(refused).toThrow(
      `${name}: options.basePath must be a path such as '/llm': with a leading slash`,
    );
    expect(refused).toThrow('Leave it out if there is no prefix before /v1.');
  }
});

it.each(adapters)('%s refuses invalid options', (name, adapter) => {
  for (const options of [null, '/llm', 5]) {
    expect(() => adapter(scriptedGateway(), untyped(options)())).toThrow(
      `${name}: options must be an object, such as { basePath: '/llm' }. Or leave it out.`,
    );
  }
  expect(() => adapter(scriptedGateway(), untyped({ basepath: '/llm' })())).toThrow(
    `${name}: options.basepath does not exist. Remove it; basePath is the only option.`,
  );
});

it.each(adapters)('%s accepts a basePath of several segments, or none', (_name, adapter) => {
  for (const options of [{ basePath: '/api/llm' }, {}, untyped({ basePath: undefined })()]) {
    expect(() => adapter(scriptedGateway(), options)).not.toThrow();
  }
});
