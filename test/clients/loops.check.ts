/**
 * Conversations of two prompts, each of which needs tools. The upstreams refuse reasoning that does
 * not come back unchanged and in its place.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { cutCall } from './cut-replies.ts';
import type { AppTool } from './drivers/client.ts';
import { pairs, started } from './pairs.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8' +
  'z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

describe.each(pairs(5))('%s', (_name, pair) => {
  const { api, client, upstream } = pair;

  it('runs two rounds of parallel calls for a prompt, and sends back every signature', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const ran: string[] = [];
    const answering = (name: string, parameter: string): AppTool => ({
      name,
      parameter,
      run: (argument) => {
        ran.push(`${name} ${argument}`);
        return `{"of":"${name}"}`;
      },
    });
    const tools = [answering('get_weather', 'city'), answering('get_time', 'zone')];

    const answers = await client.converse(target('agent-2'), {
      prompts: ['Hello!', 'And now?'],
      tools,
      reasons: true,
    });

    const round = ['get_time sample', 'get_weather sample'];
    expect(ran.toSorted()).toEqual([...round, ...round, ...round, ...round].toSorted());
    expect(answers).toHaveLength(2);
    for (const answer of answers) expect(answer).toContain('57°F');
    expect(fake.calls).toHaveLength(6);
    expect(upstream.signaturesIn(fake.calls.at(-1)?.json())).toEqual(upstream.signaturesAtTheEnd);
  });

  // Most of these clients declare strict tools, which DeepSeek does not have.
  // LangChain 0 switches reasoning off, which Gemini 3 can't do.
  const asksTooMuch = client.disablesReasoning === true && upstream.name === 'gemini';
  it.runIf(upstream.takesSchemasAndImages && !asksTooMuch)(
    'sends nothing unasked that a strict model refuses',
    async () => {
      const { target } = await started(pair, onTestFinished);
      const strict = { ...target(''), model: api.knownModel };
      const tool: AppTool = { name: 'get_weather', parameter: 'city', run: () => 'foggy' };

      const [answer] = await client.converse(strict, {
        prompts: ['Hello!'],
        tools: [tool],
        reasons: false,
      });
      const { text } = await client.ask(strict, { prompt: 'Hello!' });

      expect(answer).toContain('57°F');
      expect(text).toMatch(/^H/);
    },
  );

  it.runIf(upstream.takesSchemasAndImages)('sends back images that a tool returned', async () => {
    const { target, lastBody } = await started(pair, onTestFinished);
    const photo: AppTool = { name: 'take_photo', parameter: 'place', run: () => ({ png }) };

    const [answer] = await client.converse(target('agent-1'), {
      prompts: ['Show me.'],
      tools: [photo],
      reasons: true,
    });

    expect(answer).toContain('57°F');
    expect(lastBody()).toContain(png);
  });

  const { name } = upstream;
  // LangChain shows calls whose arguments are incomplete, for its app to tell by the status.
  const isSafe = client.streams && !client.name.startsWith('langchain');
  const isSdk = /^(?:openai|anthropic) /.test(client.name);
  const cuts = isSafe && name !== 'gemini' ? (['limit', 'filter'] as const) : [];
  it.for(cuts)('runs no call that a %s cut', async (by) => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const ran: string[] = [];
    const tool: AppTool = {
      name: 'get_weather',
      parameter: 'city',
      run: (argument) => {
        ran.push(argument);
        return 'foggy';
      },
    };
    if (name !== 'gemini') fake.enqueue(cutCall(name, by));

    const conversation = { prompts: ['Hello!'], tools: [tool], reasons: true };
    const answering = client.converse(target('agent-1'), conversation);

    // Agents and the AI SDK may throw or answer nothing: both are safe.
    await (isSdk ? answering : answering.catch(() => undefined));

    expect(ran).toEqual([]);
  });
});
