/** Settings of a request that other gateways were reported to spoil, by TRANSLATION's sections. */
import { describe, expect, it } from 'vitest';
import { pick } from '../matrix/json.ts';
import { sent, upstreamBody } from './translated-call.ts';

const gemini25 = { channel: { upstreamModel: 'gemini-2.5-flash' } };

describe('§6.8 stops', () => {
  it('of a bare string are a list, and empty ones are left out', async () => {
    const one = await upstreamBody('chat over gemini', { stop: 'END' });
    const some = await upstreamBody('chat over anthropic', { stop: ['', ' ', 'END'] });

    expect(pick(one, 'generationConfig', 'stopSequences')).toEqual(['END']);
    expect(pick(some, 'stop_sequences')).toEqual(['END']);
  });

  it('above the limit are cut and listed, or refused where the model is strict', async () => {
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

describe('§6.10 to §6.12 numbers and safety', () => {
  it('one answer is never asked for by number', async () => {
    const gemini = await upstreamBody('chat over gemini', { n: 1 }, gemini25);
    const openai = await upstreamBody('native over openai', {
      generationConfig: { candidateCount: 1 },
    });

    expect(JSON.stringify([gemini, openai])).not.toMatch(/candidateCount|"n"/);
  });

  it('§6.11 zero is a value, but for penalties, of which it is none', async () => {
    const body = { temperature: 0, top_p: 0, seed: 0, presence_penalty: 0, frequency_penalty: 0 };

    const { upstream, dropped } = await sent('chat over gemini', body);

    expect(pick(upstream, 'generationConfig')).toEqual({ temperature: 0, topP: 0, seed: 0 });
    expect(dropped).toEqual([]);
  });

  it('§6.12 nobody’s safety settings are made up', async () => {
    const body = await upstreamBody('chat over gemini', {});

    expect(pick(body, 'safetySettings')).toBe(undefined);
  });
});
