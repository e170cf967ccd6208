// suite: quick
/** The options of `azure()`, also in a catalog file: where they lead, and mistakes in them. */
import { describe, expect, it } from 'vitest';
import { azure, staticCatalog } from '../../../src/index.ts';
import type { AzureOptions } from '../../../src/ports/models/platform.ts';
import { untyped } from '../../stages/ports/failing.ts';
import { channel, model } from '../../support/models.ts';

const dated = '2025-04-01-preview';

describe('a place', () => {
  it.each<[AzureOptions, string]>([
    [{ kind: 'v1', resource: 'contoso' }, 'https://contoso.openai.azure.com/openai/v1'],
    [
      { kind: 'deployments', apiVersion: dated, resource: 'contoso' },
      'https://contoso.openai.azure.com/openai',
    ],
    [
      { kind: 'v1', kinds: { images: 'deployments' }, apiVersion: dated, resource: 'contoso' },
      'https://contoso.openai.azure.com/openai',
    ],
    [
      { kind: 'anthropic', resource: 'contoso' },
      'https://contoso.services.ai.azure.com/anthropic/v1',
    ],
    [
      { kind: 'v1', baseUrl: 'https://contoso.openai.azure.us' },
      'https://contoso.openai.azure.us/openai/v1',
    ],
    [
      { kind: 'anthropic', baseUrl: 'https://apim.contoso.com/llm' },
      'https://apim.contoso.com/llm/anthropic/v1',
    ],
  ])('%j is %s', (options, baseUrl) => {
    const place = azure(options);

    expect(place.baseUrl).toBe(baseUrl);
    expect(() => staticCatalog([model({ channels: [channel(place)] })])).not.toThrow();
  });

  it('has the deployment as the upstream model, so that one id may have several of them', () => {
    const place = (deployment: string) => azure({ kind: 'v1', resource: 'contoso', deployment });

    expect(place('one')).toEqual({ ...place('two'), upstreamModel: 'one' });
    expect(azure({ kind: 'v1', resource: 'contoso' })).not.toHaveProperty('upstreamModel');
  });
});

describe('a mistake is named with what to write', () => {
  const v1 = { kind: 'v1', resource: 'contoso' };

  it.each<[object, string]>([
    [{ kind: 'v1' }, 'platform must have a resource or a baseUrl, and not both'],
    [{ ...v1, baseUrl: 'https://a.example' }, 'platform must have a resource or a baseUrl'],
    [{ ...v1, kind: 'foundry' }, "platform.kind must be 'v1', 'deployments' or 'anthropic'"],
    [
      { kind: 'v1', resource: 'contoso.openai.azure.com' },
      'platform.resource must be the name alone',
    ],
    [
      { kind: 'v1', baseUrl: 'https://a.example/' },
      'platform.baseUrl must be a URL without a slash',
    ],
    [
      { kind: 'v1', baseUrl: 'https://a.example/openai/v1' },
      'platform.baseUrl must end before /openai',
    ],
    [
      { kind: 'anthropic', baseUrl: 'https://a.example/anthropic' },
      'must end before /openai and /anthropic',
    ],
    [
      { ...v1, kind: 'deployments' },
      'platform.apiVersion must be the version of paths by deployment',
    ],
    [
      { ...v1, apiVersion: dated },
      'platform.apiVersion must be the version of paths by deployment',
    ],
    [{ ...v1, kinds: { images: 'deployments' } }, 'platform.apiVersion must be the version'],
    [{ ...v1, kinds: { image: 'v1' } }, 'platform.kinds.image'],
    [
      { ...v1, kinds: { images: 'anthropic' } },
      "platform.kinds.images must be 'v1' or 'deployments'",
    ],
    [{ kind: 'anthropic', resource: 'a', kinds: {} }, 'platform.kinds is for the APIs of OpenAI'],
    [{ ...v1, deployments: 'gpt' }, 'platform.deployments'],
  ])('%j', (options, sentence) => {
    const place = azure(untyped(options)());

    expect(() => staticCatalog([model({ channels: [channel(place)] })])).toThrow(sentence);
  });
});
