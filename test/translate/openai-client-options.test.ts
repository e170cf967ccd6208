/** §3, §6.3, §6.6–§6.12 what a request asks for, in the words of an OpenAI-compatible upstream. */

import { describe, expect, it } from 'vitest';
import type { ContentRequest } from '../../src/canonical/request.ts';
import type { JsonObject } from '../../src/json.ts';
import type { Capabilities } from '../../src/ports/catalog.ts';
import {
  bodyOf,
  contentRequest,
  droppedFrom,
  notPortable,
  parametersFor,
  tool,
} from './openai-client-support.ts';

describe('the outline of a body', () => {
  it('a plain request is the model and the messages', () => {
    expect(bodyOf(contentRequest())).toEqual({
      model: 'gpt-4.1',
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  it('a stream asks for its figures where the upstream knows the word', () => {
    expect(parametersFor({ streamed: true })).toEqual({
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(parametersFor({ streamed: true }, { includeUsage: false })).toEqual({ stream: true });
  });

  it('what reading the request lost is still listed, each name once', () => {
    const lost = droppedFrom({
      dropped: ['safetySettings', 'x'],
      topK: 4,
      providerMembers: [own('x')],
    });

    expect(lost).toEqual(['safetySettings', 'x', 'generationConfig.topK']);
  });
});

function own(at: string, provider = 'gemini', vital = false) {
  return { provider, name: 'verbosity', value: 'low', at, vital };
}

describe('§6.12 members of one provider', () => {
  it("another's are dropped, or refused if all depends on them; OpenAI's own are sent", () => {
    expect(droppedFrom({ providerMembers: [own('safetySettings')] })).toEqual(['safetySettings']);
    expect(() =>
      parametersFor({ providerMembers: [own('cachedContent', 'gemini', true)] }),
    ).toThrowError(notPortable('cachedContent'));
    expect(parametersFor({ providerMembers: [own('verbosity', 'openai')] })).toEqual({
      verbosity: 'low',
    });
  });
});

describe('§6.8 §6.10 §6.11 numbers', () => {
  it('keep their values, zero among them, by their names upstream', () => {
    const asked = parametersFor({
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

    expect(asked).toEqual({
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
      'sampling not at all',
      { temperature: 1, topP: 1 },
      { sampling: 'none' },
      {},
      ['temperature', 'topP'],
    ],
    [
      'one of the two',
      { temperature: 1, topP: 1 },
      { sampling: 'one' },
      { temperature: 1 },
      ['topP'],
    ],
    ['one of the two, the other', { topP: 1 }, { sampling: 'one' }, { top_p: 1 }, []],
    ['top_k', { topK: 4 }, { topK: true }, { top_k: 4 }, []],
    ['no top_k', { topK: 4 }, {}, {}, ['topK']],
    ['no penalties', { frequencyPenalty: 1 }, { penalties: false }, {}, ['frequencyPenalty']],
    ['a penalty of 0', { frequencyPenalty: 0 }, { penalties: false }, {}, []],
    ['no seed', { seed: 0 }, { seed: false }, {}, ['seed']],
    [
      'few stops',
      { stop: ['a', 'b', 'c'] },
      { stopLimit: 2 },
      { stop: ['a', 'b'] },
      ['stopSequences'],
    ],
    ['no stops', { stop: ['a'] }, { stopLimit: 0 }, {}, ['stopSequences']],
    ['no probabilities', { logprobs: { top: 1 } }, { logprobs: false }, {}, ['responseLogprobs']],
    [
      'too many alternatives',
      { logprobs: { top: 30 } },
      {},
      { logprobs: true, top_logprobs: 20 },
      ['responseLogprobs'],
    ],
  ])('%s', (_what, members, flags, expected, lost) => {
    expect(parametersFor(members, flags)).toEqual(expected);
    expect(droppedFrom(members, flags)).toEqual(lost.map((name) => `generationConfig.${name}`));
  });

  it('a tier that only the other provider knows is dropped', () => {
    expect(droppedFrom({ serviceTier: 'constructor' })).toEqual(['serviceTier']);
  });

  it('more answers than the upstream gives are refused, not given as one', () => {
    const refused = notPortable('generationConfig.candidateCount');

    expect(() => parametersFor({ candidates: 3 }, { maxCandidates: 2 })).toThrowError(refused);
    expect(() =>
      parametersFor({ candidates: 2, streamed: true }, { streamedCandidates: false }),
    ).toThrowError(refused);
  });

  it('images and sound are refused by a model that only writes', () => {
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

describe('§6.9 how hard to think', () => {
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

  it('a model that does not think is not asked to', () => {
    expect(parametersFor(withReasoning({ effort: 'high' }))).toEqual({});
    expect(droppedFrom(withReasoning({ effort: 'high' }))).toEqual([
      'generationConfig.thinkingConfig',
    ]);
  });

  it('GPT-5.6 takes functions only with no effort at all', () => {
    const tools = [tool('f')];

    expect(parametersFor({ tools }, {}, 'gpt-5.6').reasoning_effort).toBe('none');
    expect(droppedFrom({ tools }, {}, 'gpt-5.6')).toEqual([]);
    expect(droppedFrom({ tools, ...withReasoning({ effort: 'high' }) }, {}, 'gpt-5.6')).toEqual([
      'generationConfig.thinkingConfig',
    ]);
    expect(parametersFor({}, {}, 'gpt-5.6').reasoning_effort).toBeUndefined();
  });
});
