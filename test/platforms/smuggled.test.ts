// suite: quick
/** Whatever a platform refuses is found however a caller writes it. */
import { describe, expect, it } from 'vitest';
import { bedrock } from '../../src/platforms/bedrock/bedrock.ts';
import { azure, vertex } from '../../src/platforms/places.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';

const places: Readonly<Record<string, Partial<Channel>>> = {
  vertex: vertex({ kind: 'anthropic', project: 'p', location: 'us-east5' }),
  runtime: bedrock({ kind: 'runtime', region: 'us-east-1' }),
  mantle: bedrock({ kind: 'mantle', region: 'us-east-1' }),
  azure: azure({ kind: 'anthropic', resource: 'contoso' }),
  aws: bedrock({ kind: 'anthropic', region: 'us-west-2', workspaceId: 'wrkspc_1' }),
};

async function callWith(
  place: Partial<Channel>,
  member: string,
  strict: boolean,
  headers: Readonly<Record<string, string>> = {},
) {
  const { call, upstream } = gatewayInProcess({
    models: [model({ protocols: ['messages'], strict, channels: [channel(place)] })],
    handlers: [
      (up) =>
        up.answer(200, {
          type: 'message',
          content: [{ type: 'text', text: 'Hi' }],
          usage: { input_tokens: 3, output_tokens: 1 },
        }),
    ],
  });
  const messages = '"messages":[{"role":"user","content":"hi"}]';
  const body = `{"model":"chat","max_tokens":9,${messages},${member}}`;
  const reply = await call({ path: '/v1/messages', headers, body });
  const [sent] = upstream.calls;
  return { reply, sent: Buffer.concat([...(sent?.request.body ?? [])]).toString() };
}

/** The same JSON with each letter of a name escaped, one after the other. */
function spellings(text: string, name: string): readonly string[] {
  const letters = [...name].map((letter, index) => {
    const escaped = `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return text.replace(`"${name}"`, `"${name.slice(0, index)}${escaped}${name.slice(index + 1)}"`);
  });
  return [text, ...letters];
}

const hosted = ['vertex', 'runtime', 'mantle'];
const everywhere = [...hosted, 'azure'];
const rows: readonly (readonly [string, string, readonly string[]])[] = [
  ['"anthropic_beta":["context-1m-2025-08-07"]', 'anthropic_beta', everywhere],
  ['"diagnostics":{}', 'diagnostics', hosted],
  ['"output_config":{"task_budget":{"total":9}}', 'task_budget', hosted],
  ['"system":[{"cache_control":{"type":"ephemeral","scope":"global"}}]', 'scope', everywhere],
  ['"cache_control":{"type":"ephemeral"}', 'cache_control', ['runtime']],
];

describe.each(rows)('%s', (member, name, refusedBy) => {
  it.each(refusedBy)('is left out for %s and listed, or refused by a strict model', async (at) => {
    for (const spelling of spellings(member, name)) {
      const { reply, sent } = await callWith(places[at] ?? {}, spelling, false);
      expect([spelling, reply.status]).toEqual([spelling, 200]);
      expect(JSON.stringify(JSON.parse(sent))).not.toContain(name);
      expect(reply.headers['x-tollgate-dropped']).toContain(name);

      const strict = await callWith(places[at] ?? {}, spelling, true);
      expect([spelling, strict.reply.status]).toEqual([spelling, 400]);
      expect(strict.sent).toBe('');
    }
  });
});

it.each(Object.keys(places))('an unknown version of the API does not reach %s', async (at) => {
  const headers = { 'anthropic-version': '2027-01-01' };
  const { reply, sent } = await callWith(places[at] ?? {}, '"temperature":1', false, headers);

  expect(reply.status).toBe(400);
  expect(reply.text).toContain('anthropic-version');
  expect(sent).toBe('');
});
