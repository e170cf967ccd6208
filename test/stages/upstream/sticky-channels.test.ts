// suite: slow
/** Which calls stay on one account: those of one session of a key, as their API names it. */
import { expect, it } from 'vitest';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { CallHandler, DrivenCall } from '../../support/driven-upstream.ts';
import {
  type CallerRequest,
  callerSecret,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, model, replies } from '../../support/models.ts';
import { replyDocument } from '../references/responses-gateway.ts';

const accounts = ['eu', 'us', 'ap'];
const names = Array.from({ length: 12 }, (_, index) => `session-${index}`);

/** Where the callers of an API name their session. */
const places: Readonly<Record<string, (name: string) => CallerRequest>> = {
  'prompt_cache_key of a chat call': (name) => chat({ prompt_cache_key: name }),
  'prompt_cache_key of a Responses call': (name) => responses({ prompt_cache_key: name }),
  'the header session-id of a Responses call': (name) => responses({}, { 'session-id': name }),
  'metadata.user_id of a Messages call': (name) => messages({ metadata: { user_id: name } }),
  'the header x-claude-code-session-id of a Messages call': (name) =>
    messages({}, { 'x-claude-code-session-id': name }),
};

function messages(members: object, headers: CallerRequest['headers'] = {}): CallerRequest {
  const messageList = [{ role: 'user', content: 'hi' }];
  const body = { model: 'm', max_tokens: 9, messages: messageList, ...members };
  return { path: '/v1/messages', body, headers };
}

function chat(members: object, headers: CallerRequest['headers'] = {}): CallerRequest {
  const messages = [{ role: 'user', content: 'hi' }];
  return { path: '/v1/chat/completions', body: { model: 'm', messages, ...members }, headers };
}

function responses(members: object, headers: CallerRequest['headers'] = {}): CallerRequest {
  return { path: '/v1/responses', body: { model: 'm', input: 'hi', ...members }, headers };
}

function reply(call: DrivenCall): void {
  const isChat = call.request.path.endsWith('/chat/completions');
  call.answer(200, isChat ? replies.chat : replyDocument('1'));
}

/** Three accounts of equal weight, and a random source that prefers a different one each time. */
function stickyGateway(
  stickyBy: Channel['stickyBy'],
  handlers: readonly CallHandler[] = [],
): InProcessGateway {
  let count = 0;
  const channels = accounts.map((id) =>
    channel({
      id,
      baseUrl: `https://${id}.example/v1`,
      capabilities: { responses: true },
      ...(stickyBy === undefined ? {} : { stickyBy }),
    }),
  );
  return gatewayInProcess({
    handlers: [...handlers, ...new Array<CallHandler>(1_000).fill(reply)],
    models: [model({ id: 'm', protocols: ['chat', 'responses', 'messages'], channels })],
    options: {
      keys: {
        find: (id) => ({
          id,
          group: 'staff',
          disabled: false,
          quota: [{ id, period: 'total', limitNanos: 1_000_000_000n }],
        }),
      },
      random: () => {
        count += 1;
        return ((count * 37) % 101) / 101;
      },
    },
  });
}

/** The account that served a call. */
async function accountOf(
  harness: InProcessGateway,
  request: CallerRequest,
  key = callerSecret,
): Promise<string> {
  const headers = { ...request.headers, authorization: `Bearer ${key}` };
  const { status } = await harness.call({ ...request, withoutKey: true, headers });
  expect(status).toBe(200);
  const origin = harness.upstream.calls.at(-1)?.request.origin ?? '';
  return new URL(origin).hostname.split('.')[0] ?? '';
}

async function accountsOf(
  harness: InProcessGateway,
  of: (name: string) => CallerRequest,
  key?: string,
): Promise<readonly string[]> {
  const served: string[] = [];
  for (const name of names) served.push(await accountOf(harness, of(name), key));
  return served;
}

const named = Object.entries(places);
const sticky: readonly (readonly [Channel['stickyBy'], string, (name: string) => CallerRequest])[] =
  [
    ...named.map(([place, of]) => ['session', place, of] as const),
    ...named.slice(0, 2).map(([place, of]) => ['prompt_cache_key', place, of] as const),
  ];

it.each(sticky)('by %s, calls with one %s stay on one account', async (stickyBy, _place, of) => {
  const harness = stickyGateway(stickyBy);

  const first = await accountsOf(harness, of);

  for (let repeat = 0; repeat < 3; repeat += 1) {
    expect(await accountsOf(harness, of)).toEqual(first);
  }
  expect(new Set(first)).toEqual(new Set(accounts));
  expect(await accountsOf(stickyGateway(undefined), of)).not.toEqual(first);
});

it.each(named)('another key with the same %s is on its own', async (_place, of) => {
  const harness = stickyGateway('session');

  expect(await accountsOf(harness, of, 'key-2')).not.toEqual(await accountsOf(harness, of));
});

it('a session is the same in every place', async () => {
  const harness = stickyGateway('session');

  const served = await Promise.all(Object.values(places).map((of) => accountsOf(harness, of)));

  expect(new Set(served.map((list) => list.join()))).toEqual(new Set([served[0]?.join()]));
});

it('the prompt_cache_key of a Responses call goes before its header', async () => {
  const harness = stickyGateway('session');
  const byMember = await accountsOf(harness, (name) => responses({ prompt_cache_key: name }));

  const byBoth = await accountsOf(harness, (name) =>
    responses({ prompt_cache_key: name }, { 'session-id': 'other' }),
  );

  expect(byBoth).toEqual(byMember);
});

it('the session header of a Messages call goes before its user', async () => {
  const harness = stickyGateway('session');
  const session = (name: string) => ({ 'x-claude-code-session-id': name });
  const byHeader = await accountsOf(harness, (name) => messages({}, session(name)));

  const byBoth = await accountsOf(harness, (name) =>
    messages({ metadata: { user_id: 'other' } }, session(name)),
  );

  expect(byBoth).toEqual(byHeader);
});

it.each<[string, CallerRequest]>([
  ['no name', responses({})],
  ['an empty name', responses({ prompt_cache_key: '' }, { 'session-id': '' })],
  ['a header of 65 characters', responses({}, { 'session-id': 'x'.repeat(65) })],
  ['a header with a space', responses({}, { 'session-id': 'a b' })],
  ['a header with a control character', responses({}, { 'session-id': 'a\u0007' })],
  ['a header that is not ASCII', responses({}, { 'session-id': 'é' })],
  ['a header that chat clients do not send', chat({}, { 'session-id': 'x' })],
])('a call with %s stays with the other calls of its key', async (_what, request) => {
  const bySession = stickyGateway('session');
  const byKey = stickyGateway('key');

  for (const key of names) {
    expect(await accountOf(bySession, request, key)).toBe(await accountOf(byKey, chat({}), key));
  }
});

it.each(named)('fail-over leaves the account of a %s for one call', async (_place, of) => {
  const request = of('session-0');
  const home = await accountOf(stickyGateway('session'), request);
  const harness = stickyGateway('session', [
    (call) => call.answer(429, { error: { message: 'No.' } }, { 'retry-after': '20' }),
  ]);

  const during = await accountOf(harness, request);
  const still = await accountOf(harness, request);
  harness.clock.advance(20_000);
  const after = await accountOf(harness, request);

  expect(harness.upstream.calls[0]?.request.origin).toBe(`https://${home}.example`);
  expect([during === home, still, after]).toEqual([false, during, home]);
});
