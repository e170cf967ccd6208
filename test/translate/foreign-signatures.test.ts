// suite: quick
/** A conversation may change its provider: none gets another one’s signature. */
import { expect, it } from 'vitest';
import { seal } from '../../src/canonical/envelope.ts';
import { anyModelGateway, native } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

const envelope = seal({ provider: 'anthropic', kind: 'signature', data: 'sig+/=="' });
const olderEnvelope = Buffer.from('gw1:anthropic:signature:sig+/=="').toString('base64');
const own = 'CiQB4/H/XqgOwn==';

/** The body that a relay sends to Gemini for a history with these signatures. */
async function relayed(body: string): Promise<string> {
  const upstream = scriptedUpstream({ chunks: ['{"candidates":[]}'] });

  await anyModelGateway({ upstream }).call(native('json', body));

  return Buffer.concat(upstream.requests[0]?.body ?? []).toString();
}

const history = (signature: string, name = 'thoughtSignature') =>
  '{"contents": [{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1.0}},' +
  `"${name}" : "${signature}"}]},{"parts":[{"text":"\\"Z3cyO is how it begins"}]}], "x":1e2}`;

it('an envelope never reaches Google, and the rest of the request is unchanged', async () => {
  const placeholder = 'Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv';

  expect(await relayed(history(envelope))).toBe(history(placeholder));
  expect(await relayed(history(olderEnvelope))).toBe(history(placeholder));
  expect(await relayed(history(envelope, 'thought_signature'))).toBe(
    history(placeholder, 'thought_signature'),
  );
});

it('Google’s own signature is passed on', async () => {
  expect(await relayed(history(own))).toBe(history(own));
});
