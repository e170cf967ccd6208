/** A strict model, through the gateway: what it refuses of the requests that clients send. */
import { describe, expect, it } from 'vitest';
import { items, member, parseJson } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/catalog.ts';
import { anyModelGateway, responses } from '../../support/any-model-gateway.ts';
import { responsesFixture } from '../../support/responses-fixtures.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { bodyOf, upstreams } from './read.ts';

async function sent(dialect: DialectName, model: string, body: object) {
  // The upstream refuses, so that the reply is that of the gateway only if it refuses first.
  const upstream = scriptedUpstream({ status: 400, chunks: ['{}'] });
  const gateway = anyModelGateway({
    upstream,
    model: { strict: true },
    channel: { dialect, upstreamModel: model, capabilities: { responses: false } },
  });
  const { text } = await gateway.call(responses(JSON.stringify(body)));
  return {
    wasSent: upstream.requests.length > 0,
    param: member(member(parseJson(text), 'error'), 'param'),
  };
}

describe.each(upstreams)('a strict model over $dialect', ({ dialect, model }) => {
  it.each([
    'agents.1',
    'ai6-default.1',
    'ai7-store-false.1',
    'langchain.1',
    'langchain-zdr.1',
  ])('takes the request of %s', async (name) => {
    const body = bodyOf(responsesFixture(`clients/${name}`).request);

    expect(await sent(dialect, model, body)).toMatchObject({ wasSent: true });
  });

  it('refuses the web search of Codex by its path, and takes the rest', async () => {
    const body = bodyOf(responsesFixture('clients/codex-parallel.1').request);
    const tools = items(member(body, 'tools'));

    expect(await sent(dialect, model, body)).toEqual({
      wasSent: false,
      param: expect.stringMatching(/^tools\[8\]/),
    });
    expect(await sent(dialect, model, { ...body, tools: tools.slice(0, -1) })).toMatchObject({
      wasSent: true,
    });
  });
});
