// suite: quick
/** The model lists of Anthropic's clients, and the dates of models without one. */
import { describe, expect, it } from 'vitest';
import { anthropicCaller } from '../../../src/protocols/callers/anthropic.ts';
import { protocols } from '../../../src/protocols/table.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { model } from '../../support/models.ts';

const get = (path: string, search = '') => ({ method: 'GET', path, search });

describe('GET /v1/models for Anthropic’s clients', () => {
  const version = { 'anthropic-version': '2023-06-01' };
  const models = Array.from({ length: 45 }, (_, index) =>
    model({ id: `m${index}`, contextTokens: 1_000, createdAtSeconds: 1_700_000_000 }),
  );
  /** A table in which Anthropic's clients have an API, with the reader of another one. */
  const tables = { protocols: { chat: { ...protocols.chat, caller: anthropicCaller } } };

  async function page(search: string): Promise<Record<string, unknown>> {
    const { call } = gatewayInProcess({ models, tables });
    const { status, text } = await call({ ...get('/v1/models', search), headers: version });
    expect(status).toBe(200);
    return JSON.parse(text);
  }

  it('lists the models that the Messages API serves, for a bearer of the version', async () => {
    const claude = model({ id: 'claude', protocols: ['messages'] });
    const { call } = gatewayInProcess({ models: [...models, claude] });
    const { status, text } = await call({ ...get('/v1/models'), headers: version });

    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      { data: [{ id: 'claude' }], has_more: false, first_id: 'claude', last_id: 'claude' },
    ]);
  });

  it('is empty where the Messages API serves no model', async () => {
    const { call } = gatewayInProcess({ models });
    const { text } = await call({ ...get('/v1/models'), headers: version });

    expect(JSON.parse(text)).toEqual({ data: [], has_more: false, first_id: null, last_id: null });
  });

  it('describes a model as Anthropic does', async () => {
    const { data } = await page('limit=1');

    expect(data).toEqual([
      {
        type: 'model',
        id: 'm0',
        display_name: 'm0',
        created_at: '2023-11-14T22:13:20Z',
        max_input_tokens: 1_000,
        max_tokens: 100,
        capabilities: null,
        lifecycle: 'active',
        deprecated_at: null,
        retires_at: null,
        line: null,
      },
    ]);
  });

  it.each([
    ['', 20],
    ['limit=7', 7],
    ['limit=1000', 45],
    ['limit=44', 44],
  ])('comes in pages that end: ?%s', async (search, size) => {
    const forwards: unknown[] = [];
    let after = '';
    for (let count = 0; count < 50; count += 1) {
      const found = await page(`${search}&after_id=${after}`);
      forwards.push(...idsIn(found.data));
      if (found.has_more === false) break;
      expect(idsIn(found.data)).toHaveLength(size);
      after = String(found.last_id);
    }

    expect(forwards).toEqual(models.map(({ id }) => id));
  });

  it('is read backwards too', async () => {
    const backwards: unknown[] = [];
    let before = 'm44';
    for (let count = 0; count < 50; count += 1) {
      const found = await page(`limit=7&before_id=${before}`);
      backwards.unshift(...idsIn(found.data));
      if (found.has_more === false) break;
      before = String(found.first_id);
    }

    expect(backwards).toEqual(models.slice(0, 44).map(({ id }) => id));
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=ten',
    'after_id=nonsense',
    'before_id=nonsense',
  ])('refuses ?%s', async (search) => {
    const { call } = gatewayInProcess({ models, tables });
    const { status, text } = await call({ ...get('/v1/models', search), headers: version });

    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining(search.split('=')[0] ?? ''),
      },
    });
  });
});

describe('the date of a model', () => {
  const undated = [model({ id: 'undated' })];
  const tables = {
    protocols: { ...protocols, chat: { ...protocols.chat, caller: anthropicCaller } },
  };

  it('is 1970-01-01 if its record states none: the same in every process', async () => {
    const startMs = Date.UTC(2026, 10, 20, 12);
    const openai = gatewayInProcess({ models: undated, startMs });
    const anthropic = gatewayInProcess({ models: undated, startMs, tables });
    openai.clock.advance(3_600_000);

    const [entry] = JSON.parse((await openai.call(get('/v1/models'))).text).data;
    const one = JSON.parse((await openai.call(get('/v1/models/undated'))).text);
    const dated = await anthropic.call({
      ...get('/v1/models/undated'),
      headers: { 'anthropic-version': '2023-06-01' },
    });

    expect([entry.created, one.created]).toEqual([0, 0]);
    expect(JSON.parse(dated.text).created_at).toBe('1970-01-01T00:00:00Z');
  });
});

function idsIn(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data.map(({ id }) => id) : [];
}
