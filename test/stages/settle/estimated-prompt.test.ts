// suite: quick
/** The estimate of a prompt that no upstream counted: the same for a whole and a streamed reply. */
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../../src/bytes/body/body.ts';
import { routesOf } from '../../../src/protocols/routes.ts';
import { protocols } from '../../../src/protocols/table.ts';
import { readCall } from '../../../src/stages/read-call.ts';
import { estimatedPrompt } from '../../../src/stages/settle/estimated-prompt.ts';
import { holdFor } from '../../../src/stages/settle/hold.ts';
import { model } from '../../support/models.ts';
import { routeSettings } from '../../support/route-settings.ts';

const { contextTokens: _small, ...roomy } = model();

function estimateOf(path: string, body: string): number {
  const route = routesOf(protocols).find(
    { method: 'POST', path, search: '', headers: {} },
    routeSettings,
  );
  if (route.kind !== 'call') throw new Error(`${path} is no call`);
  const call = readCall(wholeBody(Buffer.from(body)), route, routeSettings);
  return estimatedPrompt(call, roomy, holdFor(call, roomy));
}

const messages = '"messages":[{"role":"user","content":"How many tokens are these?"}]';
const apis: readonly (readonly [path: string, members: readonly string[]])[] = [
  ['/v1/chat/completions', ['"model":"m"', messages]],
  ['/v1/messages', ['"model":"m"', '"max_tokens":9', messages]],
  ['/v1/responses', ['"model":"m"', '"input":"How many tokens are these?"']],
];
const framings = [
  ['"stream":true'],
  ['"stream":false'],
  ['"stream" : true'],
  ['"stream":true', '"stream_options":{"include_usage":true}'],
];

describe.each(apis)('%s', (path, members) => {
  it.each([',', ', ', ',\n  '])('estimates the same at every place, with %j between', (between) => {
    const plain = estimateOf(path, `{${members.join(between)}}`);

    for (const framing of framings) {
      if (path === '/v1/responses' && framing.length > 1) continue;
      for (let place = 0; place <= members.length; place += 1) {
        const all = members.toSpliced(place, 0, ...framing);
        expect(estimateOf(path, `{${all.join(between)}}`), all.join(between)).toBe(plain);
      }
    }
  });
});
