// suite: slow
/** What Vertex AI refuses of Anthropic's API is changed or taken out, and nothing else is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject } from '../../../src/json.ts';
import { type ClaudeFeature, claudeFeatures } from '../../../src/platforms/anthropic-betas.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { reachMembers } from '../../../src/ports/models/reach-members.ts';
import { messages } from '../../support/any-model-gateway.ts';
import { ask, type Members, type Setup, text } from './ask.ts';

describe('the version of Anthropic’s API', () => {
  const date = fc
    .date({ min: new Date('2020-01-01'), max: new Date('2029-12-31'), noInvalidDate: true })
    .map((day) => day.toISOString().slice(0, 10));

  const names: Readonly<Record<string, string>> = {
    '2023-06-01': 'vertex-2023-10-16',
    '2026-10-21': '2026-10-21',
  };

  it.each(
    Object.entries(names),
  )('of a caller is moved from the header: %s', async (sent, there) => {
    const headers = { 'anthropic-version': sent };
    const body = { ...claudeBody(), anthropic_version: 'bedrock-2023-05-31' };
    const call = await askClaude(body, { headers });

    expect(call.sent[0]?.body).toMatchObject({ anthropic_version: there });
    expect(call.sent[0]?.headers).not.toHaveProperty('anthropic-version');
  });

  it('of a caller is one of these, or the answer is 400 and names the header', async () => {
    await fc.assert(
      fc.asyncProperty(date, async (version) => {
        fc.pre(!Object.hasOwn(names, version));
        const headers = { 'anthropic-version': version };
        const { reply, sent } = await askClaude(claudeBody(), { headers });

        expect(reply.status).toBe(400);
        expect(reply.text).toContain('anthropic-version');
        expect(sent).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});

function claudeBody(members: Members = {}): Members {
  return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], ...members };
}

function askClaude(
  body: Members,
  { headers = {}, ...setup }: Setup & { readonly headers?: Record<string, string> } = {},
) {
  return ask({ ...messages(text(body)), headers }, { kind: 'anthropic', ...setup });
}

/** A request with a member at this path of the table. */
function bodyWith(path: string): Members {
  // It must be a list of models.
  if (path === 'fallbacks') return { fallbacks: [{ model: 'm' }] };
  const [step = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? { kept: 'no' } : bodyWith(rest.join('.'));
  const isList = step.endsWith('[]');
  return { [isList ? step.slice(0, -2) : step]: isList ? [inner] : inner };
}

const sample: Readonly<Record<string, Members>> = {
  tools: { name: 't', input_schema: { type: 'object' } },
  messages: { role: 'user' },
};

/** The same in a request that is valid but for it. */
function requestWith(path: string): Members {
  const [[name = '', value = null] = []] = Object.entries(bodyWith(path));
  const listed = Array.isArray(value)
    ? value.map((one) => ({ ...sample[name], ...(isJsonObject(one) ? one : {}) }))
    : value;
  return claudeBody({ [name]: listed });
}

describe('each feature of Claude that Vertex does not have', () => {
  const refused = claudeFeatures.filter(({ vertex: support }) => support === 'refused');
  const flagged = refused.filter((feature) => feature.flag !== undefined);

  it.each(
    flagged.map((feature) => [feature.flag, feature] as const),
  )('%s: its flag and its members are taken out together', async (flag, {
    members = [],
    tools = [],
  }: ClaudeFeature) => {
    const headers = { 'anthropic-beta': `interleaved-thinking-2025-05-14,${flag}-2026-01-02` };
    for (const path of [...members, undefined]) {
      const body = path === undefined ? claudeBody() : requestWith(path);
      const { reply, sent } = await askClaude(body, { headers, model: allowed });
      const names = [`anthropic-beta:${flag}-2026-01-02`, ...(path === undefined ? [] : [path])];

      expect(reply.status, reply.text).toBe(200);
      expect(reply.headers['x-tollgate-dropped']).toBe(names.join(','));
      expect(sent[0]?.headers['anthropic-beta']).toBe('interleaved-thinking-2025-05-14');
      expect(text(sent[0]?.body)).not.toContain('"kept":"no"');
      expect(sent[0]?.body).toMatchObject({ max_tokens: 9 });
    }
    for (const tool of tools) {
      const own = { name: 'own', input_schema: { type: 'object' } };
      const body = claudeBody({ tools: [own, { type: `${tool}_20260101`, name: 'x' }] });
      const { reply, sent } = await askClaude(body, { headers, model: allowed });

      expect(reply.headers['x-tollgate-dropped']).toMatch(/tools\[1\]$/);
      expect(sent[0]?.body).toMatchObject({ tools: [own] });
    }
  });

  it.each(
    refused.flatMap(({ members = [] }) => members),
  )('%s is refused by a strict model, by its name', async (path) => {
    const model = { ...allowed, strict: true };
    const { reply, sent } = await askClaude(requestWith(path), { model });

    expect(reply.status).toBe(400);
    expect(reply.text).toContain(path);
    expect(sent).toEqual([]);
  });

  it('what Vertex knows stays as it is', async () => {
    const flags = 'context-management-2025-06-27,compact-2026-01-12,some-beta-2027-01-01';
    const body = claudeBody({
      context_management: { edits: [{ type: 'compact_20260112' }] },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } },
      tools: [{ name: 'scope', input_schema: { properties: { scope: {} } }, strict: true }],
    });
    const headers = { 'anthropic-beta': flags };
    const { reply, sent } = await askClaude(body, { headers, model: allowed });
    const { model: _, ...expected } = body;

    expect(reply.status, reply.text).toBe(200);
    expect(reply.headers).not.toHaveProperty('x-tollgate-dropped');
    expect(sent[0]?.headers['anthropic-beta']).toBe(flags);
    expect(sent[0]?.body).toEqual({ ...expected, anthropic_version: 'vertex-2023-10-16' });
  });

  it('a feature with another name there is sent by that, once', async () => {
    const flags = 'advanced-tool-use-2025-11-20,tool-search-tool-2025-10-19';
    const { sent } = await askClaude(claudeBody(), { headers: { 'anthropic-beta': flags } });
    expect(sent[0]?.headers['anthropic-beta']).toBe('tool-search-tool-2025-10-19');
  });

  it('the flag of web search is taken out of counts only', async () => {
    const headers = { 'anthropic-beta': 'web-search-2025-03-05' };
    const { sent } = await askClaude(claudeBody(), { headers });
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
    const counted = await ask(
      { path: '/v1/messages/count_tokens', body: text(body), headers },
      { kind: 'anthropic', reply: '{"input_tokens":3}' },
    );

    expect(sent[0]?.headers).toMatchObject(headers);
    expect(counted.sent[0]?.headers).not.toHaveProperty('anthropic-beta');
    expect(counted.sent[0]?.body).toEqual({ ...body, anthropic_version: 'vertex-2023-10-16' });
  });
});

/** What reaches beyond a call, or costs more, is allowed, so that it gets to the platform. */
const allowed: Partial<Model> = {
  price: { per: 'free' },
  allow: Object.fromEntries(reachMembers.map((name) => [name, true])),
};
