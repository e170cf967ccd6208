// suite: quick
/** Parameters of a request as an OpenAI-compatible upstream receives them. */

import { describe, expect, it } from 'vitest';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { Capabilities } from '../../../src/ports/catalog.ts';
import { functionTool } from '../../support/codec.ts';
import { bodyOf, contentRequest, droppedFrom, notPortable, parametersFor } from './client.ts';

describe('the outline of a body', () => {
  it('a plain request is the model and the messages', () => {
    expect(bodyOf(contentRequest())).toEqual({
      model: 'gpt-4.1',
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  it('a stream requests usage if the upstream supports it', () => {
    expect(parametersFor({ streamed: true })).toEqual({
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(parametersFor({ streamed: true }, { includeUsage: false })).toEqual({ stream: true });
  });

  it('members dropped while reading the request are listed too, each name once', () => {
    const dropped = droppedFrom({
      dropped: ['safetySettings', 'x'],
      topK: 4,
      providerMembers: [providerMember('x')],
    });

    expect(dropped).toEqual(['safetySettings', 'x', 'generationConfig.topK']);
  });
});

function providerMember(at: string, provider = 'gemini', vital = false) {
  return { provider, name: 'verbosity', value: 'low', at, vital };
}

describe('provider-specific members', () => {
  it("of another provider are dropped, or refused if vital; OpenAI's are sent", () => {
    expect(droppedFrom({ providerMembers: [providerMember('safetySettings')] })).toEqual([
      'safetySettings',
    ]);
    expect(() =>
      parametersFor({ providerMembers: [providerMember('cachedContent', 'gemini', true)] }),
    ).toThrowError(notPortable('cachedContent'));
    expect(parametersFor({ providerMembers: [providerMember('verbosity', 'openai')] })).toEqual({
      verbosity: 'low',
    });
  });
});

describe('limits and sampling parameters', () => {
  it('keep their values, including zero, under the names of the upstream', () => {
    const parameters = parametersFor({
      maxOutputTokens: 5,
      temperature: 0,
      topP: 0,
      seed: 0,
      presencePenalty: 0.5,
      candidates: 2,
      logprobs: { top: 3 },
      stop: ['', 'END'],
      endUserId: 'someone',
      serviceTier: 'flex',
    });

    expect(parameters).toEqual({
      max_completion_tokens: 5,
      temperature: 0,
      top_p: 0,
      seed: 0,
      presence_penalty: 0.5,
      n: 2,
      logprobs: true,
      top_logprobs: 3,
      stop: ['END'],
      user: 'someone',
      service_tier: 'flex',
    });
    expect(parametersFor({ maxOutputTokens: 5 }, { maxTokensField: 'max_tokens' })).toEqual({
      max_tokens: 5,
    });
  });

  it.each<[string, Partial<ContentRequest>, Capabilities, JsonObject, readonly string[]]>([
    [
      'no sampling parameters',
      { temperature: 1, topP: 1 },
      { sampling: 'none' },
      {},
      ['temperature', 'topP'],
    ],
    [
      'one of temperature and top_p',
      { temperature: 1, topP: 1 },
      { sampling: 'one' },
      { temperature: 1 },
      ['topP'],
    ],
    [
      'one of temperature and top_p, given top_p',
      { topP: 1 },
      { sampling: 'one' },
      { top_p: 1 },
      [],
    ],
    ['top_k', { topK: 4 }, { topK: true }, { top_k: 4 }, []],
    ['no top_k', { topK: 4 }, {}, {}, ['topK']],
    ['no penalties', { frequencyPenalty: 1 }, { penalties: false }, {}, ['frequencyPenalty']],
    ['a penalty of 0', { frequencyPenalty: 0 }, { penalties: false }, {}, []],
    ['no seed', { seed: 0 }, { seed: false }, {}, ['seed']],
    [
      'few stop sequences',
      { stop: ['a', 'b', 'c'] },
      { stopLimit: 2 },
      { stop: ['a', 'b'] },
      ['stopSequences'],
    ],
    ['no stop sequences', { stop: ['a'] }, { stopLimit: 0 }, {}, ['stopSequences']],
    ['no logprobs', { logprobs: { top: 1 } }, { logprobs: false }, {}, ['responseLogprobs']],
    [
      'too many top_logprobs',
      { logprobs: { top: 30 } },
      {},
      { logprobs: true, top_logprobs: 20 },
      ['responseLogprobs'],
    ],
  ])('%s', (_what, members, flags, expected, dropped) => {
    expect(parametersFor(members, flags)).toEqual(expected);
    expect(droppedFrom(members, flags)).toEqual(dropped.map((name) => `generationConfig.${name}`));
  });

  it('a service tier that only another provider has is dropped', () => {
    expect(droppedFrom({ serviceTier: 'constructor' })).toEqual(['serviceTier']);
  });

  it('more choices than the upstream supports are refused, not reduced', () => {
    const refused = notPortable('generationConfig.candidateCount');

    expect(() => parametersFor({ candidates: 3 }, { maxCandidates: 2 })).toThrowError(refused);
    expect(() =>
      parametersFor({ candidates: 2, streamed: true }, { streamedCandidates: false }),
    ).toThrowError(refused);
  });

  it('image and audio output is refused for a text-only model', () => {
    const refused = notPortable('generationConfig.responseModalities');

    expect(() => parametersFor({ modalities: ['text', 'image'] })).toThrowError(refused);
    expect(parametersFor({ modalities: ['text'] })).toEqual({});
    expect(parametersFor({ modalities: ['text', 'image'] }, { mediaOutput: true })).toEqual({
      modalities: ['text', 'image'],
    });
    expect(
      parametersFor({ modalities: ['audio'], streamed: true }, { mediaOutput: true }),
    ).toMatchObject({ audio: { format: 'pcm16' } });
  });
});

describe('reasoning effort', () => {
  const withReasoning = (reasoning: Partial<NonNullable<ContentRequest['reasoning']>>) => ({
    reasoning: {
      effort: undefined,
      budgetTokens: undefined,
      includeThoughts: undefined,
      ...reasoning,
    },
  });
  const all = ['none', 'minimal', 'low', 'medium', 'high'] as const;

  it.each([
    [{ effort: 'high' }, all, 'high', false],
    [{ effort: 'max' }, all, 'high', true],
    [{ effort: 'minimal' }, ['none', 'low', 'medium'], 'low', true],
    [{ effort: 'medium' }, ['low', 'high'], 'high', true],
    [{ effort: 'none' }, ['low', 'high'], 'low', true],
    [{ effort: 'low' }, ['high', 'max'], 'high', true],
    [{ budgetTokens: 0 }, all, 'none', false],
    [{ budgetTokens: 1024 }, all, 'low', false],
    [{ budgetTokens: 8192 }, all, 'medium', false],
    [{ budgetTokens: 8193 }, all, 'high', false],
    [{ budgetTokens: -1 }, all, undefined, false],
    [{ includeThoughts: true }, all, undefined, false],
  ] as const)('%j of %j is %s', (reasoning, efforts, expected, isReplaced) => {
    const flags: Capabilities = { reasoning: 'effort', efforts };

    expect(parametersFor(withReasoning(reasoning), flags).reasoning_effort).toBe(expected);
    expect(droppedFrom(withReasoning(reasoning), flags)).toEqual(
      isReplaced ? ['generationConfig.thinkingConfig'] : [],
    );
  });

  it('is not sent to a model without reasoning', () => {
    expect(parametersFor(withReasoning({ effort: 'high' }))).toEqual({});
    expect(droppedFrom(withReasoning({ effort: 'high' }))).toEqual([
      'generationConfig.thinkingConfig',
    ]);
  });

  it('is none for GPT-5.6 with functions, which rejects any other', () => {
    const tools = [functionTool('f')];

    expect(parametersFor({ tools }, {}, 'gpt-5.6').reasoning_effort).toBe('none');
    expect(droppedFrom({ tools }, {}, 'gpt-5.6')).toEqual([]);
    expect(droppedFrom({ tools, ...withReasoning({ effort: 'high' }) }, {}, 'gpt-5.6')).toEqual([
      'generationConfig.thinkingConfig',
    ]);
    expect(parametersFor({}, {}, 'gpt-5.6').reasoning_effort).toBeUndefined();
  });
});
