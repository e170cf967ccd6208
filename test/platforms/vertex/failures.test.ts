// suite: slow
/** Errors of Vertex AI, in Google's form and in Anthropic's, and what follows from each. */
import { describe, expect, it } from 'vitest';
import { dialects } from '../../../src/dialects/table.ts';
import { vertex } from '../../../src/platforms/places.ts';
import { onVertex as hostedOn } from '../../../src/platforms/vertex-dialect.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { type FailureRow, rowOf } from '../../../src/stages/upstream/failure-table.ts';
import { messages, wholeMessage } from '../../support/any-model-gateway.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { callerSecret, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import { token } from './sent-requests.ts';

const kinds = ['google', 'anthropic', 'openapi'] as const;
const publisherModel =
  'Publisher Model `projects/p/locations/us-east5/publishers/anthropic/models/claude-x`';

interface Row {
  readonly status: number;
  readonly rpc: string;
  readonly message: string;
  readonly reason?: string;
  readonly details?: readonly object[];
  readonly expected: Partial<Omit<FailureRow, 'health'>> & { readonly health?: unknown };
  readonly retryAfterMs?: number;
}

const accountOut = { reason: 'upstream_forbidden', retry: 'elsewhere', mayHaveRun: false } as const;
const modelOut = {
  code: 'model_not_found',
  reason: 'upstream_model_not_found',
  retry: 'elsewhere',
  health: { cooldownScope: 'model' },
} as const;
const callers = { code: 'invalid_request', retry: 'never', health: 'none' } as const;

const rows: Readonly<Record<string, Row>> = {
  'a quota of a model in a region': {
    status: 429,
    rpc: 'RESOURCE_EXHAUSTED',
    message:
      'Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model ' +
      'with base model: anthropic-claude-sonnet-4-5. Please submit a quota increase request.',
    expected: {
      code: 'upstream_rate_limited',
      retry: 'elsewhere',
      mayHaveRun: false,
      health: { cooldownScope: 'model', isLastResort: true },
    },
  },
  'no capacity, with a delay': {
    status: 429,
    rpc: 'RESOURCE_EXHAUSTED',
    message: `${publisherModel}: Resource exhausted. Please try again later.`,
    details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }],
    retryAfterMs: 7_000,
    expected: { code: 'upstream_rate_limited', health: { cooldownScope: 'model' } },
  },
  'a model that is not enabled, or not in this region': {
    status: 404,
    rpc: 'NOT_FOUND',
    message: `${publisherModel} was not found or your project does not have access to it.`,
    expected: modelOut,
  },
  'a model that is not served in this region': {
    status: 400,
    rpc: 'FAILED_PRECONDITION',
    message: `${publisherModel} is not servable in region us-east5.`,
    expected: modelOut,
  },
  'a project that may not use the model': {
    status: 400,
    rpc: 'FAILED_PRECONDITION',
    message: `Project \`1234\` is not allowed to use ${publisherModel}.`,
    expected: modelOut,
  },
  'a model that an organization forbids': {
    status: 400,
    rpc: 'FAILED_PRECONDITION',
    message:
      'Organization Policy constraint `constraints/vertexai.allowedModels` violated for ' +
      '`projects/p` attempting to use a disallowed Gen AI model.',
    expected: modelOut,
  },
  'a feature that an organization forbids': {
    status: 400,
    rpc: 'FAILED_PRECONDITION',
    message:
      'Organization Policy constraint `constraints/vertexai.allowedPartnerModelFeatures` ' +
      'violated for `projects/p` attempting to use a disallowed feature web_search.',
    expected: callers,
  },
  'a service account without the role': {
    status: 403,
    rpc: 'PERMISSION_DENIED',
    reason: 'IAM_PERMISSION_DENIED',
    message:
      "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/" +
      "projects/p/locations/us-east5/publishers/anthropic/models/claude-x' (or it may not exist).",
    expected: { ...accountOut, health: { cooldownScope: 'account' } },
  },
  'an API that is switched off': {
    status: 403,
    rpc: 'PERMISSION_DENIED',
    reason: 'SERVICE_DISABLED',
    message: 'Vertex AI API has not been used in project 1234 before or it is disabled.',
    expected: { ...accountOut, health: { cooldownScope: 'account' } },
  },
  'a project without billing': {
    status: 403,
    rpc: 'PERMISSION_DENIED',
    reason: 'BILLING_DISABLED',
    message: 'This API method requires billing to be enabled.',
    expected: { ...accountOut, health: { cooldownScope: 'account' } },
  },
  'an expired token': {
    status: 401,
    rpc: 'UNAUTHENTICATED',
    reason: 'ACCESS_TOKEN_EXPIRED',
    message: 'Request had invalid authentication credentials. Expected OAuth 2 access token.',
    expected: { reason: 'upstream_auth_error', retry: 'elsewhere', health: 'refused' },
  },
  'a wrong member': {
    status: 400,
    rpc: 'INVALID_ARGUMENT',
    message: 'Invalid JSON payload received. Unknown name "id": Cannot find field.',
    expected: { ...callers, forwardsMessage: true },
  },
  'an overload': {
    status: 503,
    rpc: 'UNAVAILABLE',
    message: 'The service is currently unavailable.',
    expected: { code: 'no_channel', retry: 'once', mayHaveRun: true },
  },
  'a server that was too slow': {
    status: 504,
    rpc: 'DEADLINE_EXCEEDED',
    message: 'Deadline expired before operation could complete.',
    expected: { code: 'upstream_timeout', retry: 'never' },
  },
};

function bodyOf({ status, rpc, message, reason, details = [] }: Row): object {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'googleapis.com',
  };
  const all = [...details, ...(reason === undefined ? [] : [info])];
  return { error: { code: status, message, status: rpc, ...(all.length > 0 && { details: all }) } };
}

/** The reader of errors of channels of this kind. */
function readerOf(kind: (typeof kinds)[number]) {
  const options = { kind, project: 'p', location: 'us-east5' };
  const own = dialects[vertex(options).dialect];
  const { readFailure } = hostedOn(own, { name: 'vertex', ...options });
  return (status: number, document: unknown) =>
    readFailure(status, Buffer.from(JSON.stringify(document)), {});
}

describe.each(Object.entries(rows))('%s', (_, row) => {
  it.each(kinds)('from %s, as an object and in a list', (kind) => {
    const read = readerOf(kind);
    for (const document of [bodyOf(row), [bodyOf(row)]]) {
      const report = read(row.status, document);

      expect(report).toMatchObject({ status: row.status, message: row.message });
      expect(report.retryAfterMs).toBe(row.retryAfterMs);
      expect(rowOf(report)).toMatchObject(row.expected);
    }
  });
});

describe('an error in Anthropic’s form', () => {
  it.each([
    [400, 'invalid_request_error', 'model: Extra inputs are not permitted', 'invalid_request'],
    [404, 'not_found_error', 'model: claude-x', 'model_not_found'],
    [429, 'rate_limit_error', 'Too many requests', 'upstream_rate_limited'],
    [529, 'overloaded_error', 'Overloaded', 'no_channel'],
  ])('%i %s is that of Claude’s servers', (status, type, message, code) => {
    const document = { type: 'error', error: { type, message }, request_id: 'req_vrtx_1' };
    const report = readerOf('anthropic')(status, document);

    expect(report).toMatchObject({ status, message, code: type });
    expect(rowOf(report).code).toBe(code);
  });
});

it('a recorded refusal by IAM is the account’s', () => {
  const { status, response } = fixture('gemini/f-err-iam');
  const document: unknown = JSON.parse(Buffer.from(response).toString());
  expect(rowOf(readerOf('google')(status, document)).health).toMatchObject({
    cooldownScope: 'account',
  });
});

const reply = {
  type: 'message',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 1 },
};

describe('a call that fails over from Anthropic to Vertex AI', () => {
  const claude = vertex({ kind: 'anthropic', project: 'p', location: 'us-east5' });
  const anthropic = channel({
    id: 'anthropic',
    dialect: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    priority: 0,
    upstreamModel: 'claude-opus-5',
  });
  const onVertex: Channel = {
    id: 'vertex',
    credential: token,
    priority: 1,
    upstreamModel: 'claude-opus-5',
    ...claude,
  };
  const both = model({ id: 'm', protocols: ['messages'], channels: [anthropic, onVertex] });
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const history = [
    {
      role: 'user',
      content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'EqQBCg' },
        { type: 'text', text: 'Yes?' },
      ],
    },
    { role: 'user', content: 'Go on.' },
  ];
  const body = { model: 'm', max_tokens: 9, messages: history };

  function gatewayOf() {
    return gatewayInProcess({
      models: [both],
      handlers: [(up) => up.answer(529, overloaded), (up) => up.answer(200, reply)],
    });
  }

  it('gets each in its own form, with its cache marks and signatures', async () => {
    const { call, upstream } = gatewayOf();
    const answer = await call({ ...messages(JSON.stringify(body)) });
    const [first, second] = upstream.calls.map(({ request }) =>
      JSON.parse(Buffer.concat(request.body).toString()),
    );

    expect(answer.status).toBe(200);
    expect(first).toEqual({ ...body, model: 'claude-opus-5' });
    expect(second).toEqual({
      max_tokens: 9,
      messages: history,
      anthropic_version: 'vertex-2023-10-16',
    });
  });

  it.each(['2023-06-01', '2026-10-21'])('keeps its version, %s', async (version) => {
    const { call, upstream } = gatewayOf();
    const headers = { 'anthropic-version': version };
    const answer = await call({ ...messages(JSON.stringify(body)), headers });
    const [first, second] = upstream.calls.map(({ request }) => request.headers);

    expect(answer.status).toBe(200);
    expect(first).toMatchObject(headers);
    expect(second).not.toHaveProperty('anthropic-version');
  });

  it('is not sent to Vertex in a version that it does not serve', async () => {
    const { call, upstream } = gatewayOf();
    const headers = { 'anthropic-version': '2027-01-01' };
    const answer = await call({ ...messages(JSON.stringify(body)), headers });

    expect(answer.status).toBe(529);
    expect(upstream.calls.length).toBe(1);
  });
});

describe('a quota that is used up', () => {
  const channels = ['us-east5', 'europe-west1'].map((location, priority): Channel => {
    const place = vertex({ kind: 'anthropic', project: 'p', location });
    return { id: location, credential: token, priority, ...place };
  });
  const models = ['claude-a', 'claude-b'].map((id) =>
    model({ id, protocols: ['messages'], channels }),
  );
  const row = rows['a quota of a model in a region'];

  it('is that of one model in one location', async () => {
    const { call, upstream } = gatewayInProcess({
      models,
      handlers: [
        (up) => up.answer(429, row === undefined ? {} : bodyOf(row)),
        ...Array.from({ length: 3 }, () => (up: DrivenCall) => up.answer(200, reply)),
      ],
    });
    for (const id of ['claude-a', 'claude-a', 'claude-b']) {
      const body = { model: id, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
      expect((await call(messages(JSON.stringify(body)))).status).toBe(200);
    }

    const sent = upstream.calls.map(({ request: { path } }) =>
      path.replace(/^.*locations\/(.*)\/publishers.*models\/(.*):.*$/, '$1 $2'),
    );
    expect(sent).toEqual([
      'us-east5 claude-a',
      'europe-west1 claude-a',
      'europe-west1 claude-a',
      'us-east5 claude-b',
    ]);
  });
});

describe('a token in an error of Vertex AI', () => {
  const spellings = [
    token,
    encodeURIComponent(token),
    Buffer.from(`Bearer ${token}`).toString('base64'),
    token.slice(6, 20),
  ];

  it.each(spellings)('spelled %s reaches no caller, event or record', async (spelled) => {
    const place = vertex({ kind: 'anthropic', project: 'p', location: 'us-east5' });
    const channels: readonly Channel[] = [
      { id: 'v', credential: async () => ({ token }), ...place },
    ];
    const { call, upstream, allEvents, records } = gatewayInProcess({
      models: [model({ id: 'm', protocols: ['messages'], channels })],
      handlers: [
        (up) =>
          up.answer(400, {
            error: { code: 400, status: 'INVALID_ARGUMENT', message: `Bad: ${spelled}` },
          }),
      ],
    });
    const answer = await call(messages(wholeMessage));

    expect(upstream.calls[0]?.request.headers.authorization).toBe(`Bearer ${token}`);
    expect(answer.status).toBe(400);
    const seen = [answer.text, ...allEvents.map(textOf), ...records.map(textOf)].join('\n');
    expect(seen).not.toContain(spelled);
    expect(seen).not.toContain(callerSecret);
  });

  function textOf(value: unknown): string {
    return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}` : inner));
  }
});
