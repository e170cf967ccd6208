// suite: quick
/**
 * Tools of Responses requests that run at the provider are covered by the hold, and charged however
 * the reply reports them.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { ToolCalls } from '../../../src/money.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { MembersInput } from '../../../src/prices/price-json.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  ample,
  request,
  response,
  responsesModel,
  run,
  search,
  weather,
} from './responses-calls.ts';

const fees: MembersInput = {
  web_search: { perCall: '0.000001', holdCalls: 4, holdInputTokens: 0 },
  image_generation: { perCall: '0.00001', holdCalls: 4, holdInputTokens: 0 },
  code_execution: { perCall: '0.000002', holdInputTokens: 0 },
  code_interpreter: { perCall: '0.00003', holdInputTokens: 0 },
  file_search: { perCall: '0.000004', holdInputTokens: 0 },
  shell: { perCall: '0.00005', holdInputTokens: 0 },
  mcp: { perCall: '0.000006', holdInputTokens: 0 },
  tool_search: { perCall: '0.000007', holdInputTokens: 0 },
};
const paid = responsesModel(fees, {
  allow: { code_interpreter: true, file_search: true, shell: true, mcp: true },
});
const everyTool: readonly JsonObject[] = [
  weather,
  search,
  { type: 'image_generation' },
  { type: 'code_interpreter' },
  { type: 'file_search' },
  { type: 'shell' },
  { type: 'mcp' },
  { type: 'tool_search' },
  { type: 'programmatic_tool_calling' },
];

const searched = (type: string): JsonObject => ({ type: 'web_search_call', action: { type } });
const inContainer = (id: string): JsonObject => ({
  type: 'code_interpreter_call',
  container_id: id,
  code: 'x',
});

interface Ran {
  readonly items: readonly JsonObject[];
  readonly more?: JsonObject;
  readonly calls: ToolCalls;
  readonly nanos: bigint;
}

const runs: readonly (readonly [what: string, ran: Ran])[] = [
  ['nothing', { items: [], calls: {}, nanos: 0n }],
  [
    'searches, not the pages that are opened',
    {
      items: [searched('search'), searched('open_page'), searched('search')],
      calls: { web_search: 2 },
      nanos: 2_000n,
    },
  ],
  [
    'the searches that the provider reports',
    {
      items: [searched('search'), searched('search')],
      more: { tool_usage: { web_search: { num_requests: 1 } } },
      calls: { web_search: 1 },
      nanos: 1_000n,
    },
  ],
  [
    'an item that is repeated only once',
    {
      items: [
        { ...searched('search'), id: 'ws_1' },
        { ...searched('search'), id: 'ws_1' },
        { ...searched('search'), id: 'ws_2' },
      ],
      calls: { web_search: 2 },
      nanos: 2_000n,
    },
  ],
  [
    'at most 1,000 calls, whatever the provider reports',
    {
      items: [searched('search')],
      more: { tool_usage: { web_search: { num_requests: 1e15 } } },
      // The record has what was reported, up to the largest count that is read.
      calls: { web_search: 2 ** 40 },
      nanos: 1_000_000n,
    },
  ],
  [
    'each container once',
    {
      items: [inContainer('a'), inContainer('b'), inContainer('a')],
      calls: { code_interpreter: 2 },
      nanos: 60_000n,
    },
  ],
  [
    'commands in containers, not those at the caller',
    {
      items: [
        { type: 'shell_call', environment: { type: 'container_reference', container_id: 'a' } },
        { type: 'shell_call', environment: { type: 'local' } },
        { type: 'shell_call', environment: null },
      ],
      calls: { shell: 1 },
      nanos: 50_000n,
    },
  ],
  [
    'images',
    {
      items: [
        { type: 'image_generation_call', status: 'completed', result: 'AAAA' },
        { type: 'image_generation_call', status: 'failed', result: null },
      ],
      calls: { image_generation: 1 },
      nanos: 10_000n,
    },
  ],
  [
    'searches of files, calls of servers, programs and searches of tools',
    {
      items: [
        { type: 'file_search_call', queries: ['a'] },
        { type: 'mcp_call', name: 'f' },
        { type: 'mcp_call', name: 'g' },
        { type: 'program', code: 'x' },
        { type: 'tool_search_call', execution: 'server' },
        { type: 'tool_search_call', execution: 'client' },
      ],
      calls: { file_search: 1, mcp: 2, code_execution: 1, tool_search: 1 },
      nanos: 4_000n + 12_000n + 2_000n + 7_000n,
    },
  ],
];

const event = (type: string, members: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

/** Without reported usage an image counts as content of the reply, too. */
const generatedImages = 2n * 1_290n;

/** The items as a stream, with or without its last event. */
function streamOf({ items, more }: Ran, isWhole: boolean): string {
  const begin = event('response.created', { response: response([], { status: 'in_progress' }) });
  const done = items.map((item, index) =>
    event('response.output_item.done', { output_index: index, item }),
  );
  const last = event('response.completed', { response: response(items, more) });
  return begin + done.join('') + (isWhole ? last : '');
}

describe('tools that ran are charged', () => {
  it.each(runs)('in a whole reply: %s', async (_what, { items, more, calls, nanos }) => {
    const { record } = await run(request({ tools: everyTool }), paid, response(items, more));

    expect(record.usage?.toolCalls).toEqual(calls);
    expect(record.chargeNanos).toBe(20n + nanos);
  });

  it.each(runs)('in a stream: %s', async (_what, ran) => {
    const harness = gatewayInProcess({
      key: { quota: ample },
      models: [paid],
      handlers: [
        (up) => up.answer(200, streamOf(ran, true), { 'content-type': 'text/event-stream' }),
      ],
    });

    await harness.call(request({ tools: everyTool, stream: true }));

    const record = await harness.nextRecord();
    expect(record.usage?.toolCalls).toEqual(ran.calls);
    expect(record.chargeNanos).toBe(20n + ran.nanos);
  });

  const ofItems = runs.filter(([, { items, more }]) => items.length > 0 && more === undefined);

  it.each(ofItems)('in a stream that breaks off: %s', async (_what, ran) => {
    const harness = gatewayInProcess({
      key: { quota: ample },
      models: [paid],
      handlers: [
        (up) => up.answer(200, streamOf(ran, false), { 'content-type': 'text/event-stream' }),
      ],
    });

    await harness.call(request({ tools: everyTool, stream: true }));

    const record = await harness.nextRecord();
    expect(record.usage?.toolCalls).toEqual(ran.calls);
    expect(record.chargeNanos).toBeGreaterThanOrEqual(ran.nanos);
    expect(record.chargeNanos).toBeLessThan(ran.nanos + 200n + generatedImages);
  });
});

it('charges no more calls than the caller allowed', async () => {
  const more = { tool_usage: { web_search: { num_requests: 50 } } };
  const members = { tools: everyTool, max_tool_calls: 3 };
  const { record } = await run(request(members), paid, response([searched('search')], more));

  expect(record.chargeNanos).toBe(20n + 3_000n);
});

describe('the hold of tools', () => {
  async function held(members: JsonObject, of: Model): Promise<bigint> {
    const harness = gatewayInProcess({ models: [of] });
    harness.start(request(members));
    await harness.upstream.next();
    return (await harness.state()).held;
  }
  const priced = responsesModel({ web_search: { perCall: '0.000001', holdCalls: 4 } });
  const plain = 211n;
  /** A fee, and the context of the model once more. */
  const each = 1_000n + 11n;

  it.each<[members: JsonObject, calls: bigint]>([
    [{}, 4n],
    [{ max_tool_calls: null }, 4n],
    [{ max_tool_calls: 9 }, 4n],
    [{ max_tool_calls: 3 }, 3n],
    [{ max_tool_calls: 0 }, 0n],
    [{ max_tool_calls: -1 }, 4n],
    [{ max_tool_calls: '1' }, 4n],
  ])('covers as many calls as the price and the caller allow: %j', async (members, calls) => {
    expect(await held({ tools: [search], ...members }, priced)).toBe(plain + calls * each);
  });

  it('covers a summary in addition to the answer', async () => {
    const of = responsesModel({ compaction: {} });
    const members = { context_management: [{ type: 'compaction' }] };

    // The summary reads the whole context of 11 tokens, too.
    expect(await held(members, of)).toBe(plain + 11n + 2n * 16_384n);
  });
});
