// suite: quick
/** Settings that other gateways were reported to break. */
import { describe, expect, it } from 'vitest';
import { pick } from '../matrix/json.ts';
import { sent, upstreamBody } from './translated-call.ts';

const gemini25 = { channel: { upstreamModel: 'gemini-2.5-flash' } };

describe('stop sequences', () => {
  it('as a string become a list, and empty ones are dropped', async () => {
    const one = await upstreamBody('chat over gemini', { stop: 'END' });
    const some = await upstreamBody('chat over anthropic', { stop: ['', ' ', 'END'] });

    expect(pick(one, 'generationConfig', 'stopSequences')).toEqual(['END']);
    expect(pick(some, 'stop_sequences')).toEqual(['END']);
  });

  it('above the limit are dropped and reported, or refused if the model is strict', async () => {
    const stopSequences = ['a', 'b', 'c', 'd', 'e', 'f'];
    const body = { generationConfig: { stopSequences } };

    const lax = await sent('native over openai', body, { channel: { upstreamModel: 'gpt-4.1' } });
    const strict = await sent('native over openai', body, {
      channel: { upstreamModel: 'gpt-4.1' },
      model: { strict: true },
    });

    expect(pick(lax.upstream, 'stop')).toEqual(['a', 'b', 'c', 'd']);
    expect(lax.dropped).toEqual(['generationConfig.stopSequences']);
    expect(strict.answer.status).toBe(400);
  });
});

describe('numbers and safety', () => {
  it('a single candidate is never requested by number', async () => {
    const gemini = await upstreamBody('chat over gemini', { n: 1 }, gemini25);
    const openai = await upstreamBody('native over openai', {
      generationConfig: { candidateCount: 1 },
    });

    expect(JSON.stringify([gemini, openai])).not.toMatch(/candidateCount|"n"/);
  });

  it('zero is sent, except for penalties, where it is the default', async () => {
    const body = { temperature: 0, top_p: 0, seed: 0, presence_penalty: 0, frequency_penalty: 0 };

    const { upstream, dropped } = await sent('chat over gemini', body);

    expect(pick(upstream, 'generationConfig')).toEqual({ temperature: 0, topP: 0, seed: 0 });
    expect(dropped).toEqual([]);
  });

  it('safety settings are never invented', async () => {
    const body = await upstreamBody('chat over gemini', {});

    expect(pick(body, 'safetySettings')).toBe(undefined);
  });
});
