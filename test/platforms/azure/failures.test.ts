// suite: quick
/** What Azure, Foundry and API Management refuse: who is blamed, and what happens next. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { azure } from '../../../src/platforms/places.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { AzureOptions } from '../../../src/ports/models/platform.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../../support/models.ts';

/** The reply to the caller of the only channel, and for how long that channel gets no calls. */
interface Row {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly told: number;
  readonly code: string | null;
  readonly reason: string;
  /** Another channel is asked. */
  readonly isRetried: boolean;
  /** What is out: nothing, the model on the account, or the account. */
  readonly out: 'nothing' | 'model' | 'account';
  readonly outMs?: number;
}

const azureError = (code: string | null, message: string, more: object = {}) => ({
  error: { code, message, ...more },
});
const apim = (statusCode: number, message: string) => ({ statusCode, message });
const filterMessage =
  "The response was filtered due to the prompt triggering Azure OpenAI's content management " +
  'policy. Please modify your prompt and retry.';
const result = { violence: { filtered: true, severity: 'high' } };

const filtered = {
  told: 400,
  code: 'content_filter',
  reason: 'upstream_refused',
  isRetried: false,
  out: 'nothing',
} as const;
const refused = {
  told: 502,
  code: 'upstream_failed',
  reason: 'upstream_auth_error',
  isRetried: true,
  out: 'account',
} as const;
const ofAccount = { ...refused, reason: 'upstream_forbidden', outMs: 600_000 } as const;
const noModel = {
  told: 404,
  code: 'model_not_found',
  reason: 'upstream_model_not_found',
  isRetried: true,
  out: 'model',
  outMs: 60_000,
} as const;
const limited = {
  told: 429,
  code: 'rate_limit_exceeded',
  reason: 'upstream_rate_limited',
  isRetried: true,
  out: 'model',
} as const;

const rows: Readonly<Record<string, Row>> = {
  'a filtered prompt': {
    ...filtered,
    status: 400,
    body: azureError('content_filter', filterMessage, {
      type: null,
      param: 'prompt',
      status: 400,
      innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: result },
    }),
  },
  'a filtered prompt that only its inner error names': {
    ...filtered,
    status: 400,
    body: azureError('BadRequest', 'Bad.', {
      innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: result },
    }),
  },
  'a filtered image': {
    ...filtered,
    code: 'content_policy_violation',
    status: 400,
    body: azureError('content_policy_violation', 'Bad.', {
      inner_error: { code: 'ResponsibleAIPolicyViolation', content_filter_results: result },
    }),
  },
  'an image that an old model filtered': {
    ...filtered,
    status: 400,
    body: azureError('contentFilter', 'Your task failed as a result of our safety system.'),
  },
  'a wrong key': {
    ...refused,
    status: 401,
    body: azureError('401', 'Access denied due to invalid subscription key or wrong API endpoint.'),
  },
  'an expired token': {
    ...refused,
    status: 401,
    body: apim(
      401,
      'Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired.',
    ),
  },
  'an identity without the role': {
    ...refused,
    status: 401,
    body: azureError('PermissionDenied', 'The principal `1` lacks the required data action `a`.'),
  },
  'no subscription of API Management': {
    ...refused,
    status: 401,
    body: apim(401, 'Access denied due to missing subscription key.'),
  },
  'keys that are switched off': {
    ...ofAccount,
    status: 403,
    body: azureError(
      'AuthenticationTypeDisabled',
      'Key based authentication is disabled for this resource.',
    ),
  },
  'a firewall': {
    ...ofAccount,
    status: 403,
    body: azureError('403', 'Access denied due to Virtual Network/Firewall rules.'),
  },
  'a private network': {
    ...ofAccount,
    status: 403,
    body: {
      code: '403',
      message:
        'A Virtual Network is configured for this resource. Please use the correct endpoint.',
    },
  },
  'a private endpoint': {
    ...ofAccount,
    status: 403,
    body: azureError('403', 'Public access is disabled. Please configure private endpoint.'),
  },
  'a blocked resource': {
    ...ofAccount,
    status: 403,
    body: azureError('403', 'Your resource has been temporarily blocked because of abuse.'),
  },
  'a quota of API Management that is used up': {
    ...limited,
    status: 403,
    body: apim(403, 'Out of call volume quota. Quota will be replenished in 00:12:34.'),
    outMs: 754_000,
  },
  'one of tokens, with the wait in the header': {
    ...limited,
    status: 403,
    body: apim(403, 'Token quota is exceeded. Try again later.'),
    headers: { 'retry-after': '90' },
    outMs: 90_000,
  },
  'a deployment that does not exist': {
    ...noModel,
    status: 404,
    body: azureError('DeploymentNotFound', 'The API deployment for this resource does not exist.'),
  },
  'an unknown model of Foundry': {
    ...noModel,
    status: 400,
    body: azureError('unknown_model', 'Unknown model: gpt-x'),
  },
  'a path that does not exist': {
    ...noModel,
    status: 404,
    body: azureError('404', 'Resource not found'),
  },
  'a deployment of another kind of model': {
    ...noModel,
    status: 400,
    body: azureError(
      'OperationNotSupported',
      'The chatCompletion operation does not work with the specified model, x.',
    ),
  },
  'an API that the model does not have': {
    ...noModel,
    status: 400,
    body: azureError('api_not_supported', 'Requested API is currently not supported'),
  },
  'an API version that is too old for Responses': {
    ...noModel,
    status: 400,
    body: azureError(
      'BadRequest',
      'Azure OpenAI Responses API is enabled only for api-version 2025-03-01-preview and later',
    ),
  },
  'an API version that is too old for the model': {
    ...noModel,
    status: 400,
    body: azureError(
      'BadRequest',
      'Model o1 is enabled only for api versions 2024-12-01-preview and later',
    ),
  },
  'a member that the caller named like a wrong API version': {
    status: 400,
    body: azureError(
      null,
      'Unrecognized request argument supplied: Model o1 is enabled only for api versions',
    ),
    ...{ told: 400, code: null, reason: 'upstream_refused', isRetried: false, out: 'nothing' },
  },
  'a timeout': {
    status: 408,
    body: azureError('Timeout', 'The operation was timeout.'),
    ...{
      told: 504,
      code: 'upstream_timeout',
      reason: 'upstream_timeout',
      isRetried: false,
      out: 'model',
    },
  },
  'a rate limit': {
    ...limited,
    status: 429,
    body: azureError(
      '429',
      'Requests have exceeded token rate limit. Please retry after 26 seconds.',
    ),
    headers: { 'retry-after-ms': '26500', 'retry-after': '27' },
    outMs: 26_500,
  },
  'no capacity': {
    ...limited,
    status: 429,
    body: azureError('NoCapacity', 'The system is currently experiencing high demand.'),
    headers: { 'retry-after': '3' },
    outMs: 3_000,
  },
  'a rate limit of API Management': {
    ...limited,
    status: 429,
    body: apim(429, 'Rate limit is exceeded. Try again in 12 seconds.'),
    outMs: 12_000,
  },
};

const kinds: readonly AzureOptions[] = [
  { kind: 'v1', resource: 'contoso' },
  { kind: 'deployments', apiVersion: '2024-10-21', resource: 'contoso' },
  { kind: 'anthropic', resource: 'contoso' },
];
const secret = 'an-azure-key-0123456789';

const messages = [{ role: 'user', content: 'hi' }];
const claude = { path: '/v1/messages', body: { model: 'chat', max_tokens: 9, messages } };
/** Calls that are relayed. */
const requests = { v1: sampleRequests.chat, deployments: sampleRequests.chat, anthropic: claude };

const eachKind = Object.entries(rows).flatMap(([name, row]) =>
  kinds.map((options) => [name, options.kind, row, options] as const),
);

function gatewayOf(
  { status, body, headers }: Row,
  options: AzureOptions,
  others: readonly Channel[],
) {
  const first: Channel = {
    id: 'azure',
    credential: options.kind === 'deployments' ? async () => ({ token: secret }) : secret,
    ...azure(options),
    upstreamModel: 'gpt-eu',
  };
  return gatewayInProcess({
    handlers: [(up) => up.answer(status, body, headers), completeReply('chat')],
    models: [model({ protocols: ['chat', 'messages'], channels: [first, ...others] })],
  });
}

describe('a refusal', () => {
  it.each(eachKind)('%s (%s)', async (_, kind, row, options) => {
    const gateway = gatewayOf(row, options, []);

    const reply = await gateway.call(requests[kind]);

    expect(reply.status).toBe(row.told);
    // Anthropic's errors have no codes.
    if (kind !== 'anthropic') expect(JSON.parse(reply.text).error.code).toBe(row.code);
    expect(gateway.records[0]?.reason).toBe(row.reason);
    const seen = inspect([reply, gateway.allEvents, gateway.records], { depth: 20 });
    expect(seen).not.toContain(secret);
    expect(reply.text).not.toContain('contoso');
    const [account] = gateway.gateway.channels();
    const states = { account, model: account?.models[0], nothing: undefined };
    const outs = (['account', 'model'] as const).filter(
      (out) => (states[out]?.state ?? 'ready') !== 'ready',
    );
    expect(outs).toEqual(row.out === 'nothing' ? [] : [row.out]);
    const untilMs = states[row.out]?.untilMs ?? 0;
    if (row.outMs !== undefined) expect(untilMs - gateway.clock.now()).toBe(row.outMs);
  });

  it.each(eachKind)('is tried elsewhere only where that may help: %s (%s)', async (...args) => {
    const [, kind, row, options] = args;
    const gateway = gatewayOf(row, options, [channel({ id: 'other', priority: 1 })]);

    const reply = await gateway.call(requests[kind]);

    expect(reply.status).toBe(row.isRetried ? 200 : row.told);
  });
});

it.each(kinds)('an error that quotes the credential is hidden: $kind', async (options) => {
  const base64 = Buffer.from(`Bearer ${secret}`).toString('base64');
  for (const quoted of [secret, secret.slice(3, 18), base64]) {
    const body = azureError('BadRequest', `Unknown header value ${quoted}.`);
    const row = { ...filtered, status: 400, body };
    const gateway = gatewayOf(row, options, []);

    const reply = await gateway.call(requests[options.kind]);

    expect(reply.status).toBe(400);
    const seen = inspect([reply.text, gateway.allEvents, gateway.records], { depth: 20 });
    expect(seen).not.toContain(quoted);
  }
});
