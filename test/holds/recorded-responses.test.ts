// suite: quick
/**
 * No recorded Responses call used more input tokens than its hold covers, apart from calls with
 * tools that run at the provider and those that refer to stored content.
 */
import { expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../src/json.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { readCall } from '../../src/stages/read-call.ts';
import { holdFor } from '../../src/stages/settle/hold.ts';
import { model } from '../support/models.ts';
import {
  type ResponsesFixture,
  responsesFixtures,
} from '../support/recorded/responses-fixtures.ts';
import { routeSettings } from '../support/route-settings.ts';

const ownTools: ReadonlySet<JsonValue | undefined> = new Set(['function', 'custom', 'namespace']);

/** DeepSeek adds a prompt of 250 tokens to tools, which the rest of the hold covers. */
const withHiddenPrompt = 'compat/deepseek-tool-stream.1';

/** What a recorded call sent and used. */
interface Recorded {
  readonly name: string;
  readonly request: Uint8Array;
  readonly inputTokens: number;
}

const recorded: readonly Recorded[] = responsesFixtures('openai', 'compat').flatMap(
  ({ name, request, response }: ResponsesFixture) => {
    const body = request === undefined ? undefined : parseJson(Buffer.from(request).toString());
    const inputTokens = response === undefined ? undefined : usedInput(response);
    return request !== undefined &&
      inputTokens !== undefined &&
      isBounded(body) &&
      name !== withHiddenPrompt
      ? [{ name, request, inputTokens }]
      : [];
  },
);

function usedInput(response: Uint8Array): number | undefined {
  const text = Buffer.from(response).toString();
  const documents = text.startsWith('{')
    ? [text]
    : text
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5));
  const used = documents
    .map((document) => parseJson(document) ?? null)
    .map((document) => member(member(document, 'response') ?? document, 'usage'))
    .map((usage) => member(usage, 'input_tokens'))
    .filter((tokens) => typeof tokens === 'number');
  return used.at(-1);
}

function isBounded(body: JsonValue | undefined): body is JsonObject {
  return (
    isJsonObject(body ?? null) &&
    items(member(body, 'tools')).every((tool) => ownTools.has(member(tool, 'type'))) &&
    !['previous_response_id', 'conversation', 'prompt', 'background', 'context_management'].some(
      (name) => member(body, name),
    )
  );
}

it.each(recorded)('$name', ({ request, inputTokens }) => {
  const route = routesOf(protocols).find(
    { method: 'POST', path: '/v1/responses', search: '', headers: {} },
    routeSettings,
  );
  if (route.kind !== 'call') throw new Error('The path is no call.');
  const call = readCall(wholeBody(Buffer.from(request)), route, routeSettings);
  const { contextTokens: _unstated, ...plain } = model({
    protocols: ['responses'],
    mediaPartTokens: { reference: 50_000, document: 50_000 },
  });

  const { text, media } = holdFor(call, plain).prompt;

  expect(inputTokens).toBeLessThanOrEqual(text + media);
});

it('the recorded calls are more than 40', () => {
  expect(recorded.length).toBeGreaterThan(40);
});
