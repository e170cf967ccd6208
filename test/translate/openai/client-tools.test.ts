// suite: quick
/** Tools and output formats, and the differences of the vendor presets. */

import { describe, expect, it } from 'vitest';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { functionTool } from '../../support/codec.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { contentRequest, messagesOf, parametersFor, text } from './client.ts';

describe('vendor presets', () => {
  const rich: Partial<ContentRequest> = {
    turns: [
      user(text('a')),
      assistant({ kind: 'reasoning', text: 'Hm', at: 'c' }, text('b')),
      user(text('c')),
    ],
    tools: two(),
    toolChoice: { mode: 'required', names: ['f', 'g'] },
    parallelToolCalls: false,
    maxOutputTokens: 9,
    frequencyPenalty: 1,
    seed: 1,
    stop: ['x'],
    logprobs: { top: 1 },
    reasoning: { effort: 'medium', budgetTokens: undefined, includeThoughts: undefined },
    streamed: true,
  };

  it.each([
    [
      'mistral',
      ['max_completion_tokens', 'stream_options', 'seed', 'logprobs', 'reasoning_effort'],
    ],
    ['groq', ['logprobs', 'top_logprobs', 'frequency_penalty']],
    ['cerebras', ['frequency_penalty', 'parallel_tool_calls']],
    ['google', ['seed', 'frequency_penalty', 'parallel_tool_calls', 'max_completion_tokens']],
    ['xai', ['frequency_penalty', 'stop']],
    ['zai', ['stream_options', 'frequency_penalty', 'max_completion_tokens']],
    ['deepseek', ['max_completion_tokens', 'seed', 'parallel_tool_calls']],
    ['openrouter', ['max_completion_tokens']],
    ['azure', []],
  ] as const)('%s is not sent what it rejects', (vendor, refused) => {
    const body = parametersFor(rich, vendorCapabilities[vendor], 'a-model');

    expect(Object.keys(body).filter((name) => refused.some((other) => other === name))).toEqual([]);
    expect(body.tool_choice).toBe('required');
    expect(body.tools).toHaveLength(2);
  });

  it('DeepSeek and Z.AI get their reasoning back', () => {
    for (const vendor of ['deepseek', 'zai'] as const) {
      const messages = messagesOf(contentRequest(rich), vendorCapabilities[vendor]);

      expect(messages[1]).toMatchObject({ reasoning_content: 'Hm' });
    }
  });

  function two() {
    return [functionTool('f'), functionTool('g'), functionTool('h')];
  }
});
