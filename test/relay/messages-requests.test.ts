// suite: slow
/** What of a relayed Messages request reaches Anthropic: its bytes, its version and its betas. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyFromChunks } from '../../src/bytes/body/elide.ts';
import { spliceMembers } from '../../src/bytes/body/splice.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';
import { type EnvelopeKind, writeEnvelope } from '../../src/canonical/envelope.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { UpstreamRequest } from '../../src/ports/upstream-client.ts';
import {
  foreignThinking,
  messages as messagesRow,
  readMessages,
} from '../../src/protocols/messages/protocol.ts';
import { often } from '../bytes/json-arbitrary.ts';
import {
  anyModelGateway,
  type CallerRequest,
  messages,
  wholeMessage,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { fixtures } from '../support/recorded/fixtures.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { escapes, respelled } from './spellings.ts';
import { json } from './streams.ts';

const answer = json('{"type":"message","content":[],"usage":{"input_tokens":1,"output_tokens":1}}');
const count = json('{"input_tokens":1}');

/** Headers that must stay here, with values that would be found in whatever is sent. */
const privateHeaders = {
  'x-claude-code-session-id': 'private-1',
  'x-claude-code-agent-id': 'private-2',
  'anthropic-workspace-id': 'private-3',
  'anthropic-user-profile-id': 'private-4',
  'x-stainless-retry-count': '0',
  'x-stainless-lang': 'private-5',
  'anthropic-dangerous-direct-browser-access': 'true',
  'x-api-key': 'private-6',
};

describe('the headers of a relayed Messages call', () => {
  const paths = ['/v1/messages', '/v1/messages/count_tokens'];

  it.each(paths)('%s: version and betas go up as they came, and nothing else', async (path) => {
    const { sent } = await relayed({
      path,
      headers: {
        ...privateHeaders,
        'anthropic-version': '2026-10-21',
        'anthropic-beta': 'a-2025-01-01, b.2,c_3',
      },
    });

    expect(sent.headers).toEqual({
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      'x-api-key': 'account-secret-4711',
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-2025-01-01,b.2,c_3',
    });
  });

  it.each(paths)('%s: a client without a version means the first one', async (path) => {
    const { sent } = await relayed({ path });

    expect(sent.headers['anthropic-version']).toBe('2023-06-01');
    expect(sent.headers).not.toHaveProperty('anthropic-beta');
  });

  it.each(paths)('%s: betas of the channel replace those of the caller', async (path) => {
    const { sent, reply } = await relayed({
      path,
      headers: { 'anthropic-beta': 'a,b,c' },
      channel: { headers: { 'Anthropic-Beta': 'b,own' }, capabilities: { dropBetas: ['own'] } },
    });

    expect(sent.headers['anthropic-beta']).toBe('b,own');
    expect(reply.headers['x-tollgate-dropped']).toBe('anthropic-beta:a,anthropic-beta:c');
  });

  it.each(paths)('%s: betas that the account refuses are left out', async (path) => {
    const channel: Partial<Channel> = { capabilities: { dropBetas: ['b', 'x'] } };
    const some = await relayed({ path, headers: { 'anthropic-beta': 'a,b' }, channel });
    const all = await relayed({ path, headers: { 'anthropic-beta': 'b' }, channel });

    expect(some.sent.headers['anthropic-beta']).toBe('a');
    expect(some.reply.headers['x-tollgate-dropped']).toBe('anthropic-beta:b');
    expect(all.sent.headers).not.toHaveProperty('anthropic-beta');
  });

  const raising = ['context-1m-2025-08-07', 'context-500k', 'Context-2M-2027-01-01'].map(
    (flag, index) => [flag, 'contextTokens', [1_000_000, 500_000, 2_000_000][index] ?? 0] as const,
  );
  const raisingOutput = ['output-128k-2025-02-19', 'output-300K-2026-03-24', 'output-1m'].map(
    (flag, index) => [flag, 'maxOutputTokens', [128_000, 300_000, 1_000_000][index] ?? 0] as const,
  );

  it.each([
    ...raising,
    ...raisingOutput,
  ])('%s goes up if %s is not below it', async (flag, limit, granted) => {
    const other = limit === 'contextTokens' ? 'maxOutputTokens' : 'contextTokens';
    for (const path of paths) {
      const sentWith = (model: Partial<Model>): ReturnType<typeof relayed> =>
        relayed({ path, headers: { 'anthropic-beta': `a,${flag}` }, model });

      for (const stated of [granted, granted + 1, undefined]) {
        const { sent, reply } = await sentWith({ [limit]: stated, [other]: 100 });
        expect(sent.headers['anthropic-beta']).toBe(`a,${flag}`);
        expect(reply.headers).not.toHaveProperty('x-tollgate-dropped');
      }
      const { sent, reply } = await sentWith({ [limit]: granted - 1 });
      expect(sent.headers['anthropic-beta']).toBe('a');
      expect(reply.headers['x-tollgate-dropped']).toBe(`anthropic-beta:${flag}`);
    }
  });

  it('flags that only look like a limit go up', async () => {
    const flags = 'context-management-2025-06-27,output-128kb,my-context-1m,context-1';
    const model = { contextTokens: 100, maxOutputTokens: 10 };
    const { sent } = await relayed({ headers: { 'anthropic-beta': flags }, model });

    expect(sent.headers['anthropic-beta']).toBe(flags);
  });

  it('betas that the operator refuses don’t make a strict model refuse the call', async () => {
    const { reply } = await relayed({
      headers: { 'anthropic-beta': 'b' },
      channel: { capabilities: { dropBetas: ['b'] } },
      model: { strict: true },
    });

    expect(reply.status).toBe(200);
  });

  it.each([
    ['anthropic-version', '2023-6-1'],
    ['anthropic-version', 'latest'],
    ['anthropic-version', '2023-06-01, 2026-10-21'],
    ['anthropic-version', ''],
    ['anthropic-beta', 'a b'],
    ['anthropic-beta', 'ä'],
    ['anthropic-beta', 'x'.repeat(65)],
    ['anthropic-beta', Array.from({ length: 33 }, (_, index) => `f${index}`).join(',')],
    ['anthropic-beta', Array.from({ length: 32 }, () => 'x'.repeat(64)).join(',')],
  ])('%s: %s is refused before anything is sent', async (name, value) => {
    for (const path of paths) {
      const { reply, requests } = await relayed({ path, headers: { [name]: value } });

      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.text)).toMatchObject({
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(name) },
      });
      expect(requests).toEqual([]);
    }
  });

  it.each([
    ['beta=true', '?beta=true'],
    ['beta=true&x=1&key=2', '?beta=true'],
    ['beta=false', ''],
    ['betatrue', ''],
    ['', ''],
  ])('of the query "%s" only beta=true goes up', async (search, expected) => {
    for (const path of paths) {
      const { sent } = await relayed({ path, search });

      expect(sent.path).toBe(`/v1${path.slice('/v1'.length)}${expected}`);
    }
  });

  it('come back without the account’s, and with the id where clients look for it', async () => {
    const upstream = scriptedUpstream({
      ...answer,
      headers: {
        ...answer.headers,
        'request-id': 'req_account',
        'retry-after': '9',
        'anthropic-organization-id': 'org-1',
        'anthropic-ratelimit-tokens-remaining': '5',
      },
    });
    const { reply } = await relayed({ upstream });

    expect(reply.headers['request-id']).toBe(reply.headers['x-request-id']);
    expect(Object.keys(reply.headers).filter((name) => /anthropic|retry/.test(name))).toEqual([]);
  });
});

describe('the body of a relayed Messages call', () => {
  const recorded = fixtures('anthropic', 'messages').filter(({ request }) => request !== undefined);

  it('is tested with more than 90 recordings', () => {
    expect(recorded.length).toBeGreaterThan(90);
  });

  it.each(
    recorded.map(({ name, request }) => [name, Buffer.from(request ?? [])] as const),
  )('%s goes up byte for byte, but for the model', (_, bytes) => {
    expect(cutBody(bytes).text).toBe(bytes.toString());
  });

  it('loses the envelopes of other providers, and nothing else', () => {
    fc.assert(
      fc.property(
        conversation,
        fc.constantFrom(undefined, 1, '\t'),
        escapes,
        (turns, indent, at) => {
          const body = { model: 'm', max_tokens: 9, messages: turns, after: { n: 1 } };
          const plain = JSON.stringify(body, undefined, indent).replaceAll('"EXACT"', '1.0');
          const text = respelled(plain, at);
          const expected = withoutForeign(turns);

          const cut = cutBody(Buffer.from(text));

          expect(JSON.parse(cut.text)).toEqual(
            JSON.parse(
              JSON.stringify({ ...body, messages: expected.turns }).replaceAll('"EXACT"', '1.0'),
            ),
          );
          expect(cut.text.split('1.0').length).toBe(
            JSON.stringify(expected.turns).split('"EXACT"').length,
          );
          expect(cut.changed).toEqual(expected.changed);
          if (expected.changed.length === 0) expect(cut.text).toBe(text);
        },
      ),
      often,
    );
  });

  it('loses envelopes beside a large image too, and says so', async () => {
    const image = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(200_000) };
    const body = (content: readonly object[]): string =>
      JSON.stringify({
        model: 'm',
        max_tokens: 9,
        messages: [
          { role: 'user', content: [{ type: 'image', source: image }] },
          { role: 'assistant', content },
          { role: 'user', content: 'go on' },
        ],
      });
    const answered = { type: 'text', text: 'A cat.' };
    const { sent, reply } = await relayed({
      body: body([thinking(envelope('thinking', 'x'.repeat(9_000))), answered]),
    });

    expect(reply.status).toBe(200);
    expect(Buffer.concat([...sent.body]).toString() === body([answered])).toBe(true);
    expect(reply.headers['x-tollgate-dropped']).toBe('messages[1].content[0]');
  });
});

function envelope(kind: EnvelopeKind, data = 'c2ln', provider = 'gemini'): string {
  return writeEnvelope({ provider, kind, data });
}

function thinking(signature: string): object {
  return { type: 'thinking', thinking: '', signature };
}

const older = Buffer.from('gw1:gemini:signature:c2ln').toString('base64');
const foreignBlocks: readonly object[] = [
  thinking(envelope('thinking')),
  thinking(envelope('call')),
  thinking(envelope('text', '')),
  thinking(older),
  { type: 'redacted_thinking', data: envelope('redacted', 'x'.repeat(5_000)) },
  { type: 'redacted_thinking', data: older },
  { signature: envelope('thinking'), n: 'EXACT', thinking: 'so', type: 'thinking' },
];
const keptBlocks: readonly object[] = [
  { type: 'text', text: 'hi', n: 'EXACT' },
  { type: 'text', text: envelope('thinking') },
  { type: 'text', text: JSON.stringify(thinking(envelope('thinking'))) },
  { type: 'text', text: 'hi', signature: envelope('thinking') },
  thinking('ErUBCkYICRgCIkD'),
  thinking(''),
  { type: 'redacted_thinking', data: 'EmwKAhgBEgy' },
  { type: 'tool_use', id: 't', name: 'f', input: thinking(envelope('thinking')) },
  { type: 'tool_use', id: 't', name: 'f', input: { a: [1, { b: ',' }], n: 'EXACT' } },
];

/** A message whose blocks are mixed, with the mark of those that must go. */
interface Turn {
  readonly role: string;
  readonly content: string | readonly object[];
}

const conversation = fc.array(
  fc.oneof(
    fc.record({
      role: fc.constantFrom('assistant', 'assistant', 'user'),
      content: fc.array(fc.constantFrom(...foreignBlocks, ...keptBlocks), { maxLength: 5 }),
    }),
    fc.record({
      role: fc.constantFrom('assistant', 'user'),
      content: fc.constantFrom('hi', envelope('thinking')),
    }),
  ),
  { minLength: 1, maxLength: 6 },
);

/** The same conversation as it must go up. */
function withoutForeign(turns: readonly Turn[]): {
  readonly turns: readonly Turn[];
  readonly changed: readonly string[];
} {
  const kept: Turn[] = [];
  const changed: string[] = [];
  for (const [index, turn] of turns.entries()) {
    const { role, content } = turn;
    if (role !== 'assistant' || typeof content === 'string') {
      kept.push(turn);
      continue;
    }
    const rest = content.filter((block) => !foreignBlocks.includes(block));
    for (const [at, block] of content.entries()) {
      if (foreignBlocks.includes(block)) changed.push(`messages[${index}].content[${at}]`);
    }
    if (rest.length > 0 || content.length === 0) kept.push({ role, content: rest });
  }
  return { turns: kept, changed };
}

function cutBody(bytes: Buffer): { readonly text: string; readonly changed: readonly string[] } {
  const body = bodyFromChunks([bytes], bytes.length);
  const scanned = scanBody(body);
  const call = readMessages(scanned, {
    operation: messagesRow.paths['/v1/messages/count_tokens'] ?? messagesRow.operation,
    modelId: undefined,
    framing: 'json',
  });
  const cut = foreignThinking(call);
  const pieces = spliceMembers(call.tape, [], cut?.spans ?? []);
  return { text: Buffer.concat([...pieces]).toString(), changed: cut?.changed ?? [] };
}

/** What differs from the plain call. */
interface Setup extends Partial<Pick<CallerRequest, 'path' | 'search' | 'headers' | 'body'>> {
  readonly channel?: Partial<Channel>;
  readonly model?: Partial<Model>;
  readonly upstream?: ReturnType<typeof scriptedUpstream>;
}

async function relayed({ channel, model, upstream: own, ...request }: Setup): Promise<{
  readonly reply: CallerReply;
  readonly sent: UpstreamRequest;
  readonly requests: readonly UpstreamRequest[];
}> {
  const isCount = request.path?.endsWith('count_tokens') === true;
  const upstream = own ?? scriptedUpstream(isCount ? count : answer);
  const gateway = anyModelGateway({
    upstream,
    ...(channel === undefined ? {} : { channel }),
    ...(model === undefined ? {} : { model }),
  });
  const reply = await gateway.call({ ...messages(wholeMessage), ...request });
  const [sent] = upstream.requests;
  const nothing: UpstreamRequest = {
    method: 'POST',
    origin: '',
    path: '',
    headers: {},
    body: [],
    connectTimeoutMs: 0,
    freshConnection: false,
    onAbort: () => {},
  };
  return { reply, sent: sent ?? nothing, requests: upstream.requests };
}
