// suite: quick
/** How much the model should think, and whether it is shown: `thinking` and the effort. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { type Upstream, upstreams, writtenFor } from '../responses/read.ts';
import { requestWith } from './read.ts';

const others = upstreams.filter(({ dialect }) => dialect !== 'anthropic');

describe('thinking', () => {
  const effortName = 'output_config.effort';
  const shown = { budgetTokens: undefined, includeThoughts: true };
  const hidden = { budgetTokens: undefined, includeThoughts: false };
  it.each<[JsonObject, object | undefined, string, readonly string[]]>([
    [{}, undefined, 'thinking', []],
    [{ output_config: { effort: 'max' } }, { ...hidden, effort: 'max' }, effortName, []],
    [{ thinking: { type: 'disabled' } }, { ...hidden, effort: 'none' }, 'thinking', []],
    [
      { thinking: { type: 'disabled' }, output_config: { effort: 'low' } },
      { ...hidden, effort: 'none' },
      'thinking',
      [effortName],
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 500 } },
      { ...shown, effort: undefined, budgetTokens: 500 },
      'thinking',
      [],
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 1, display: 'omitted' } },
      { ...hidden, effort: undefined, budgetTokens: 1 },
      'thinking',
      [],
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 2_000 }, output_config: { effort: 'low' } },
      { ...shown, effort: 'low', budgetTokens: 2_000, budgetAt: 'thinking.budget_tokens' },
      effortName,
      [],
    ],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
      { ...hidden, effort: 'xhigh' },
      effortName,
      [],
    ],
    [
      { thinking: { type: 'adaptive', display: 'summarized' } },
      { ...shown, effort: undefined },
      'thinking',
      [],
    ],
    [
      { thinking: { type: 'adaptive', display: 'updates' } },
      { ...hidden, effort: undefined },
      'thinking',
      ['thinking.display'],
    ],
    [{ thinking: { type: 'between_tools' } }, undefined, 'thinking', ['thinking']],
    [
      {
        thinking: {
          type: 'enabled',
          budget_tokens: 8,
          block_binding: { prefix_mismatch_behavior: 'error' },
        },
      },
      { ...shown, effort: undefined, budgetTokens: 8 },
      'thinking',
      ['thinking.block_binding'],
    ],
  ])('%j', (members, reasoning, name, dropped) => {
    const request = requestWith(members);

    expect(request.reasoning).toEqual(reasoning);
    expect(request.names.reasoning).toBe(name);
    expect(request.dropped).toEqual(dropped);
  });

  it.each<[number, string]>([
    [500, 'low'],
    [1_024, 'low'],
    [1_025, 'medium'],
    [8_192, 'medium'],
    [8_193, 'high'],
  ])('a budget of %i is an effort of %s where a model takes efforts', (budget, effort) => {
    const request = requestWith({ thinking: { type: 'enabled', budget_tokens: budget } });

    const [openai, gemini] = others.map((upstream) => writtenFor(upstream, request).body);
    expect(openai).toMatchObject({ reasoning_effort: effort });
    expect(gemini).toMatchObject({
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    });
  });

  it('a budget beside an effort counts where a model takes budgets; the other is listed', () => {
    const request = requestWith({
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      output_config: { effort: 'low' },
    });
    const over = (upstream: Upstream) => writtenFor(upstream, request);

    expect(over({ dialect: 'openai', model: 'gpt-5.4' })).toMatchObject({
      body: { reasoning_effort: 'low' },
      dropped: ['thinking.budget_tokens'],
    });
    expect(over({ dialect: 'gemini', model: 'gemini-3-pro-preview' })).toMatchObject({
      body: { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } },
      dropped: ['thinking.budget_tokens'],
    });
    expect(over({ dialect: 'gemini', model: 'gemini-2.5-flash' })).toMatchObject({
      body: { generationConfig: { thinkingConfig: { thinkingBudget: 2_000 } } },
      dropped: ['output_config.effort'],
    });
    expect(over({ dialect: 'openai', model: 'gpt-4.1' }).dropped).toEqual([
      'output_config.effort',
      'thinking.budget_tokens',
    ]);
  });
});
