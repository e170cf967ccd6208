// suite: quick
/** A strict model, through the gateway: what it refuses of the requests that clients send. */
import { describe, expect, it } from 'vitest';
import { items, type JsonObject, member, parseJson } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { anyModelGateway, responses } from '../../support/any-model-gateway.ts';
import { responsesFixture, responsesFixtures } from '../../support/recorded/responses-fixtures.ts';
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

/** The first requests of all clients: later ones contain what only OpenAI can read. */
const requests = responsesFixtures('clients')
  .filter(({ name }) => name.endsWith('.1') && name !== 'clients/agents-next.1')
  .map(({ name, request }) => [name, bodyOf(request)] as const);

/** Settings of Codex for those models of OpenAI that it knows by name. */
const ofKnownModels = ['reasoning', 'parallel_tool_calls'];

function withoutWebSearch(body: JsonObject): JsonObject {
  const tools = items(member(body, 'tools'));
  const others = tools.filter((tool) => member(tool, 'type') !== 'web_search');
  return others.length === tools.length ? body : { ...body, tools: others };
}

function forUnknownModel(body: JsonObject): JsonObject {
  const isKnown = /^gpt-(?:5\.5|6)/.test(String(member(body, 'model')));
  const kept = Object.entries(body).filter(([name]) => !isKnown || !ofKnownModels.includes(name));
  return Object.fromEntries(kept);
}

describe.each(upstreams)('a strict model over $dialect', ({ dialect, model }) => {
  it.each(requests)('takes what %s sends, except a web search', async (_id, body) => {
    const { wasSent, param } = await sent(dialect, model, forUnknownModel(withoutWebSearch(body)));

    expect({ wasSent, param }).toEqual({ wasSent: true, param: null });
  });

  it('refuses the web search of Codex by its path', async () => {
    const body = bodyOf(responsesFixture('clients/codex-parallel.1').request);

    expect(await sent(dialect, model, body)).toEqual({
      wasSent: false,
      param: expect.stringMatching(/^tools\[8\]/),
    });
  });
});
