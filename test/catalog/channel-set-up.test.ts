// suite: slow
/** The mistakes in a channel that most first set-ups make are refused at start-up. */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import { untyped } from '../stages/ports/failing.ts';

const channel: Channel = {
  id: 'openai-1',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  credential: 'sk-one',
};
const model: Model = { id: 'gpt-5', groups: ['chat'], price: { per: 'free' }, channels: [channel] };

describe('a catalog refuses', () => {
  it.each([
    ['openai', 'https://api.openai.com', 'Use https://api.openai.com/v1.'],
    ['openai', 'https://api.openai.com/', 'Use https://api.openai.com/v1.'],
    ['openai', 'https://API.OpenAI.com/chat', 'Use https://api.openai.com/v1.'],
    ['openai', 'https://openrouter.ai/api', 'Use https://openrouter.ai/api/v1.'],
    ['openai', 'http://llm.internal:8000', 'add /v1. If the paths of this server have none, end'],
    ['openai', 'http://[::1]', 'add /v1. If the paths of this server have none, end the URL'],
    [
      'gemini',
      'https://generativelanguage.googleapis.com',
      'Use https://generativelanguage.googleapis.com/v1beta.',
    ],
    ['gemini', 'https://proxy.example', 'add /v1beta. If the paths of this server have none'],
    ['anthropic', 'https://api.anthropic.com/', 'Use https://api.anthropic.com/v1.'],
  ] as const)('a base URL without its version: %s, %s', (dialect, baseUrl, remedy) => {
    const channels = [{ ...channel, dialect, baseUrl }];

    refuses(
      [{ ...model, protocols: ['chat'], channels }],
      'models[0].channels[0].baseUrl: channel "openai-1": its baseUrl has no API version.',
      remedy,
    );
  });

  it.each([
    ['api.openai.com/v1', 'begin with https:// or http://, such as https://api.openai.com/v1.'],
    ['localhost:8080/v1', 'begin with https:// or http://, such as'],
    ['ftp://a', 'begin with https:// or http://, such as'],
    ['', 'begin with https:// or http://, such as'],
    ['https://', 'be a valid URL, such as https://api.openai.com/v1.'],
    ['http://a b', 'be a valid URL, such as'],
    ['https://u:p@a', 'have no user and password; give a secret as credential.'],
    ['https://u@a', 'have no user and password; give a secret as credential.'],
    ['https://a/?', 'end before its ? or #, because the gateway adds paths to it.'],
    ['https://a/v1?x=1', 'end before its ? or #, because the gateway adds paths to it.'],
    ['https://a/#b', 'end before its ? or #, because the gateway adds paths to it.'],
  ])('a base URL by the one rule that it breaks: %s', (baseUrl, rule) => {
    const channels = [{ ...channel, baseUrl }];

    refuses([{ ...model, channels }], `models[0].channels[0].baseUrl must ${rule}`);
  });

  it.each([
    ['openai', 'https://api.openai.com/v1/chat/completions', '/chat/completions'],
    ['openai', 'https://api.openai.com/v1/chat/completions/', '/chat/completions'],
    ['openai', 'https://api.openai.com/v1/responses', '/responses'],
    ['openai', 'https://api.openai.com/v1/images/generations', '/images/generations'],
    ['openai', 'https://api.openai.com/v1/embeddings', '/embeddings'],
    ['openai', 'https://api.anthropic.com/v1/messages', '/messages'],
    ['anthropic', 'https://api.anthropic.com/v1/messages', '/messages'],
    [
      'gemini',
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
      '/models/*:generateContent',
    ],
    [
      'gemini',
      'https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent',
      '/models/*:streamGenerateContent',
    ],
    ['gemini', 'https://generativelanguage.googleapis.com/v1beta/models', '/models'],
    ['openai', 'http://llm.internal:8000/chat/completions', '/chat/completions'],
  ] as const)('a base URL with the path of a call: %s, %s', (dialect, baseUrl, path) => {
    refuses(
      [{ ...model, protocols: ['chat'], channels: [{ ...channel, dialect, baseUrl }] }],
      `channel "openai-1": its baseUrl ends in ${path}, the path of a call. Remove it`,
    );
  });

  it.each([
    ['openai', 'https://api.openai.com/v1/'],
    ['openai', 'https://generativelanguage.googleapis.com/v1beta/openai'],
    ['openai', 'https://api.z.ai/api/paas/v4'],
    ['openai', 'https://models.example/inference'],
    ['openai', 'https://one.services.ai.azure.com/models'],
    ['openai', 'https://proxy.example/v1/my-responses'],
    ['openai', 'https://api.perplexity.ai/'],
    ['openai', 'https://gateway.example/v1/account/name/openai'],
    ['openai', 'https://one.openai.azure.com/openai/deployments/gpt'],
    ['gemini', 'https://vertex.example/v1/projects/p/locations/l/publishers/google'],
    ['anthropic', 'https://proxy.example/anthropic'],
  ] as const)('but no other base URL: %s, %s', (dialect, baseUrl) => {
    const channels = [{ ...channel, dialect, baseUrl }];

    expect(() => staticCatalog([{ ...model, channels }])).not.toThrow();
  });

  it.each([
    ['gemini', 'https://generativelanguage.googleapis.com/v1beta/openai', 'Remove /openai'],
    ['gemini', 'https://proxy.example/v1beta/openai/', "use the dialect 'openai'"],
    [
      'openai',
      'https://generativelanguage.googleapis.com/v1beta',
      'Use https://generativelanguage.googleapis.com/v1beta/openai.',
    ],
    ['openai', 'https://generativelanguage.googleapis.com', 'googleapis.com/v1beta/openai.'],
    [
      'openai',
      'https://one.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21',
      'For Azure, its platform makes the URL: see docs/platforms/azure.md',
    ],
  ] as const)('the base URL of another API of the provider: %s, %s', (dialect, baseUrl, text) => {
    refuses([{ ...model, channels: [{ ...channel, dialect, baseUrl }] }], text);
  });

  it.each(['Bearer sk-one', 'bearer sk-one'])('a credential with its scheme: %s', (credential) => {
    refuses(
      [{ ...model, channels: [{ ...channel, credential }] }],
      'credential must be the secret alone: remove "Bearer "',
    );
  });

  it.each([
    ['$', '{OPENAI_API_KEY}'].join(''),
    ['$', '{process.env.OPENAI_API_KEY}'].join(''),
    ['$', '{}'].join(''),
  ])('a credential that is a placeholder: %s', (credential) => {
    refuses(
      [{ ...model, channels: [{ ...channel, credential }] }],
      'credential is a placeholder in quotation marks, which nothing replaces.',
    );
  });

  it('a missing credential, without the name of a variable, which it can only guess', () => {
    for (const credential of ['', undefined, null]) {
      const refused = untyped([{ ...model, channels: [{ ...channel, credential }] }]);

      expect(() => staticCatalog(refused())).toThrow('If it is read from an environment variable');
      expect(() => staticCatalog(refused())).not.toThrow('OPENAI_API_KEY');
    }
  });
});

function refuses(models: unknown, ...expected: readonly string[]): void {
  const refused = () => staticCatalog(untyped(models)());

  expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  for (const text of expected) expect(refused).toThrow(text);
}
