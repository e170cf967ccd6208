/** The examples with real clients, over OpenAI and over Gemini. */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { expect, it, onTestFinished } from 'vitest';
import { exampleGateway } from '../../examples/gateway.ts';
import { askAboutWeather as askByAnthropicSdk } from '../../examples/messages-anthropic.ts';
import { runWeatherAgent } from '../../examples/responses-agents.ts';
import { askAboutWeather } from '../../examples/responses-ai-sdk.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

const examples = [
  ['responses-ai-sdk', '/v1', askAboutWeather],
  ['responses-agents', '/v1', runWeatherAgent],
  ['messages-anthropic', '', askByAnthropicSdk],
] as const;

it.each(
  examples.flatMap(([name, path, run]) =>
    ['gpt-4o-mini', 'gemini-2.5-flash'].map((model) => [name, model, path, run] as const),
  ),
)('examples/%s answers with %s, after a call of its tool', async (_name, model, path, run) => {
  const upstream = await startStrictUpstream();
  const { gateway, issued } = exampleGateway(upstream);
  const server = createServer(nodeAdapter(gateway));
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });

  const answer = await run(
    { baseURL: `${origin}${path}`, apiKey: issued.secret },
    model,
    'Weather?',
  );

  expect(answer).toContain('57°F');
  expect(upstream.calls).toHaveLength(2);
  expect(upstream.calls[1]?.body.toString()).toContain('It is foggy in sample.');
});
