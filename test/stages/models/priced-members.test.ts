// suite: quick
/**
 * Members that raise the cost, if the price lists them: covered by the hold before they run, and
 * charged.
 */
import { describe, expect, it } from 'vitest';
import type { MemberPrices } from '../../../src/money.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import type { MembersInput } from '../../../src/prices/price-json.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import { chat, completeReply, image, model } from '../../support/models.ts';

/** 1 nano per prompt token, 2 per completion token; a prompt of 11 and an output of 100 tokens. */
function priced(members: MembersInput, change: Partial<Model> = {}): Model {
  return model({ price: tokenPrice({ input: '0.001', output: '0.002', members }), ...change });
}

const search = chat({ web_search_options: {} });

async function held(request: CallerRequest, of: Model): Promise<bigint> {
  const harness = gatewayInProcess({ models: [of] });
  harness.start(request);
  await harness.upstream.next();
  return (await harness.state()).held;
}

/** A chat reply of 10 and 5 tokens, with additional usage. */
function reply(more: object = {}): string {
  return JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...more },
  });
}

async function charged(request: CallerRequest, of: Model, usage: object = {}): Promise<bigint> {
  const harness = gatewayInProcess({
    models: [of],
    handlers: [(up) => up.answer(200, reply(usage), { 'content-type': 'application/json' })],
  });
  await harness.call(request);
  const { chargeNanos } = await harness.nextRecord();
  expect(await harness.state()).toEqual({ ...untouched, used: chargeNanos });
  return chargeNanos;
}

describe('the hold', () => {
  it.each<[string, CallerRequest, MembersInput, bigint]>([
    ['ten fees, and ten contexts', search, { web_search: { perCall: '0.000001' } }, 10_321n],
    ['as many fees as the price says', search, bounded({ holdCalls: 3 }), 3_211n],
    ['the input that the price says', search, bounded({ holdInputTokens: 50 }), 10_261n],
    [
      'the factor of everything but fees',
      chat({ service_tier: 'priority' }),
      { service_tier: { multiplier: '2.5' } },
      528n,
    ],
    ['every answer that is made', chat({ best_of: 4 }), { best_of: {} }, 811n],
    [
      'reasoning beyond the answer',
      chat({ reasoning: { max_tokens: 500 } }),
      { reasoning_budget: {} },
      1_211n,
    ],
  ])('is %s', async (_what, request, members, nanos) => {
    expect(await held(request, priced(members))).toBe(nanos);
  });

  it('covers every image that is made', async () => {
    const members: MemberPrices = { num_images: {}, image_size: { multiplier: '4' } };
    const images = model({
      id: 'image',
      protocols: ['images'],
      price: { per: 'image', rows: [{ nanos: 500n }], members },
    });

    expect(await held(image({ num_images: 3 }), images)).toBe(1_500n);
    expect(await held(image({ image_size: '4K', n: 2 }), images)).toBe(4_000n);
  });
});

function bounded(more: { readonly holdCalls?: number; readonly holdInputTokens?: number }) {
  return { web_search: { perCall: '0.000001', holdInputTokens: 0, ...more } };
}

describe('the charge', () => {
  it.each<[string, CallerRequest, MembersInput, object, bigint]>([
    [
      'a fee for each search that the reply states',
      search,
      bounded({}),
      { num_search_queries: 3 },
      3_020n,
    ],
    ['none where it states none', search, bounded({}), { num_search_queries: 0 }, 20n],
    ['one where it states no number', search, bounded({}), {}, 1_020n],
    [
      'more searches than were held',
      search,
      bounded({ holdCalls: 1 }),
      { num_search_queries: 2 },
      2_020n,
    ],
    ['no fee for who does not search', chat(), bounded({}), {}, 20n],
    [
      'the factor',
      chat({ service_tier: 'priority' }),
      { service_tier: { multiplier: '2.5' } },
      {},
      50n,
    ],
  ])('is %s', async (_what, request, members, usage, nanos) => {
    expect(await charged(request, priced(members), usage)).toBe(nanos);
  });

  it('includes input up to a whole context for each pass of a tool', async () => {
    const price = bounded({ holdCalls: 2, holdInputTokens: 22 });

    expect(await charged(search, priced(price), { prompt_tokens: 33 })).toBe(1_043n);
    expect(await charged(search, priced(price), { prompt_tokens: 34 })).toBe(1_043n);
  });
});

describe('a member that is still refused', () => {
  const { contextTokens: _unstated, ...endless } = priced({ web_search: {} });

  it.each<[string, CallerRequest, Model]>([
    ['another member', chat({ speed: 'fast' }), priced({ web_search: {} })],
    ['a tool whose results nothing bounds', search, endless],
    ['answers whose number is none', chat({ best_of: '8' }), priced({ best_of: {} })],
    ['a fraction of an answer', chat({ best_of: 1.5 }), priced({ best_of: {} })],
    ['a budget below zero', chat({ thinking_budget: -1e10 }), priced({ best_of: {} })],
    ['video', chat({ modalities: ['video'] }), audible()],
  ])('%s', async (what, request, of) => {
    const harness = gatewayInProcess({ models: [of], handlers: [completeReply('chat')] });

    const { status } = await harness.call(request);

    // A negative budget means none, and was always accepted.
    expect(status).toBe(what === 'a budget below zero' ? 200 : 400);
  });
});

/** A model whose price has rates for audio and images. */
function audible(): Model {
  const rates = { input: '0.001', output: '0.002', audioOutput: '0.02', imageOutput: '0.03' };
  return model({ price: tokenPrice(rates) });
}

describe('output other than text', () => {
  it.each([
    ['audio', chat({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } })],
    ['images', chat({ modalities: ['image', 'text'] })],
  ])('%s is accepted if the price has a rate for it, and held at the highest', async (_, sent) => {
    expect(await held(sent, audible())).toBe(11n + 100n * 30n);
  });

  it('is charged at its rate', async () => {
    const usage = { completion_tokens_details: { audio_tokens: 4 } };

    expect(await charged(chat({ modalities: ['audio'] }), audible(), usage)).toBe(10n + 80n + 2n);
  });
});
