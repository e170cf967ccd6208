// suite: slow host
/** The example with OpenAI's SDK, over an embedding model of OpenAI and one of Google. */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { expect, it, onTestFinished } from 'vitest';
import { nearestText } from '../../examples/embeddings-openai.ts';
import { exampleGateway } from '../../examples/gateway.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

it.each([
  'text-embedding-3-small',
  'gemini-embedding-001',
])('examples/embeddings-openai finds the nearest text with %s', async (model) => {
  const upstream = await startStrictUpstream();
  const { gateway, issued } = exampleGateway(upstream);
  const server = createServer(nodeAdapter(gateway));
  const baseURL = `${await listening(server)}/v1`;
  onTestFinished(async () => {
    await closed(server);
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });
  // The fake makes the same vector of the same text.
  const texts = Array.from({ length: 150 }, (_, index) => `text ${index}`);

  const nearest = await nearestText({ baseURL, apiKey: issued.secret }, model, 'text 120', texts);

  expect(nearest).toBe('text 120');
  expect(upstream.calls).toHaveLength(model.startsWith('gemini') ? 2 : 1);
});
