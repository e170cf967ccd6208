// suite: quick
/** Errors of AWS are read in each of their forms, and mean the same in each. */
import { describe, expect, it } from 'vitest';
import { dialects } from '../../../src/dialects/table.ts';
import type { FailureReason } from '../../../src/failure-reasons.ts';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import { onBedrock } from '../../../src/platforms/bedrock/dialect.ts';
import { exceptionRows } from '../../../src/platforms/bedrock/errors.ts';
import type { BedrockPlatform } from '../../../src/ports/models/platform.ts';
import { anyModelGateway, messages, wholeMessage } from '../../support/any-model-gateway.ts';
import { type ScriptedReply, scriptedUpstream } from '../../support/scripted-upstream.ts';

/** What each exception of Bedrock's API model means, with the status that AWS sends. */
const meanings: readonly (readonly [name: string, status: number, reason: FailureReason])[] = [
  ['ExpiredTokenException', 403, 'upstream_auth_error'],
  ['UnrecognizedClientException', 403, 'upstream_auth_error'],
  ['InvalidSignatureException', 403, 'upstream_auth_error'],
  ['MissingAuthenticationTokenException', 403, 'upstream_auth_error'],
  ['IncompleteSignatureException', 400, 'upstream_auth_error'],
  ['RequestExpired', 400, 'upstream_auth_error'],
  ['ServiceQuotaExceededException', 400, 'upstream_forbidden'],
  ['OptInRequired', 403, 'upstream_forbidden'],
  ['AccessDeniedException', 403, 'upstream_model_not_found'],
  ['ResourceNotFoundException', 404, 'upstream_model_not_found'],
  ['ModelNotReadyException', 429, 'upstream_rate_limited'],
  ['ThrottlingException', 429, 'upstream_rate_limited'],
  ['TooManyRequestsException', 429, 'upstream_rate_limited'],
  ['ValidationException', 400, 'upstream_refused'],
  ['ModelTimeoutException', 408, 'upstream_timeout'],
  ['ModelErrorException', 424, 'upstream_error'],
  ['ModelStreamErrorException', 424, 'upstream_error'],
  ['InternalServerException', 500, 'upstream_error'],
  ['ServiceUnavailableException', 503, 'upstream_overloaded'],
];

type Form = (name: string, message: string) => Pick<ScriptedReply, 'headers' | 'chunks'>;

const forms: Readonly<Record<string, Form>> = {
  'in a header': (name, message) => ({
    headers: { 'x-amzn-errortype': name },
    chunks: [JSON.stringify({ message })],
  }),
  'in a header with a URL': (name, message) => ({
    headers: { 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
    chunks: [JSON.stringify({ message })],
  }),
  'in the body': (name, message) => ({
    chunks: [JSON.stringify({ __type: name, message })],
  }),
  'in the body with its namespace': (name, message) => ({
    chunks: [JSON.stringify({ __type: `com.amazon.coral.service#${name}`, Message: message })],
  }),
};

const kinds: readonly BedrockPlatform['kind'][] = ['runtime', 'mantle'];

describe.each(kinds)('an error on %s', (kind) => {
  const platform: BedrockPlatform = { name: 'bedrock', kind, region: 'us-east-1' };

  for (const [formName, form] of Object.entries(forms)) {
    it.each(meanings)(`${formName}: %s with %i is %s`, async (name, status, reason) => {
      const upstream = scriptedUpstream({ status, ...form(name, 'Something is wrong.') });
      const gateway = anyModelGateway({
        upstream,
        channel: bedrock({ kind, region: 'eu-west-1' }),
      });

      await gateway.call(messages(wholeMessage));

      expect(gateway.records[0]?.attempts[0]).toMatchObject({ status, reason });
    });
  }

  it.each([
    [
      403,
      'AccessDeniedException',
      'Authentication failed: Please make sure your API Key is valid.',
    ],
    [403, 'AccessDeniedException', 'Bearer Token has expired'],
    [403, undefined, 'The security token included in the request is invalid.'],
  ])('%i %s with a text about the key is of the account', (status, name, message) => {
    const headers = name === undefined ? {} : { 'x-amzn-errortype': name };
    const body = Buffer.from(JSON.stringify({ Message: message }));
    const { readFailure } = onBedrock(dialects.anthropic, platform, undefined);

    expect(readFailure(status, body, headers)).toMatchObject({ fault: 'credential', message });
  });

  it.each([
    'The provided model identifier is invalid.',
    'Invocation of model ID anthropic.claude-x with on-demand throughput isn’t supported. Retry.',
    "model `openai.gpt-oss-120b` isn't supported on this route",
  ])('%s is of the model', (message) => {
    const body = Buffer.from(JSON.stringify({ message }));
    const { readFailure } = onBedrock(dialects.anthropic, platform, undefined);

    expect(readFailure(400, body, { 'x-amzn-errortype': 'ValidationException' }).fault).toBe(
      'model',
    );
  });

  it('in the form of Anthropic is read as hers', () => {
    const error = { type: 'invalid_request_error', message: 'invalid beta flag' };
    const body = Buffer.from(JSON.stringify({ type: 'error', error }));
    const { readFailure } = onBedrock(dialects.anthropic, platform, undefined);

    expect(readFailure(400, body, { 'x-amzn-errortype': 'ValidationException' })).toMatchObject({
      status: 400,
      code: 'invalid_request_error',
      message: 'invalid beta flag',
    });
  });

  it('that is no JSON has its status alone', () => {
    const { readFailure } = onBedrock(dialects.anthropic, platform, undefined);
    for (const text of ['', '<html>', '[]', '{"__type":5}', '{"__type":""}', 'null']) {
      expect(readFailure(503, Buffer.from(text), {})).toMatchObject({
        status: 503,
        code: undefined,
      });
    }
  });
});

it('each exception of the tests is in the table', () => {
  expect(meanings.filter(([name]) => !exceptionRows.has(name))).toEqual([]);
});
