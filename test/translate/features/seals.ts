/** Envelopes in which callers keep the signatures of upstreams, by what they hold. */
import { seal } from '../../../src/canonical/envelope.ts';
import {
  callEnvelope,
  reasoningEnvelope,
  textEnvelope,
  unsignedEnvelope,
} from '../../../src/canonical/reasoning-envelopes.ts';
import { signedBy } from './parts.ts';

const anthropic = signedBy('anthropic', 'c2ln').providerData;
const google = signedBy('gemini', 'c2ln').providerData;
const hidden = signedBy('anthropic', 'aGlk', 'encrypted').providerData;

/** Signed by Anthropic, with the text `Hm.`, without it, and without any. */
export const signedText: string = reasoningEnvelope('Hm.', anthropic);
export const signed: string = reasoningEnvelope(undefined, anthropic);
export const signedEmpty: string = reasoningEnvelope('', anthropic);
/** Encrypted by Anthropic. */
export const sealedHidden: string = reasoningEnvelope('', hidden);
/** Signed by nobody, without a text and with `Hm.`. */
export const unsigned: string = unsignedEnvelope();
export const unsignedText: string = unsignedEnvelope('Hm.');
/** Signatures of Google: of a text, of the call `a` and of the call `c0`. */
export const ofText: string = textEnvelope(google) ?? '';
export const ofCallA: string = ofCallOf('a');
export const ofCall: string = ofCallOf('c0');
/** The form that callers of Google's API get. */
export const sealOfAnthropic: string = seal(anthropic);
export const sealOfHidden: string = seal(hidden);
/** What Gemini accepts in place of a signature. */
export const placeholder: string = Buffer.from('context_engineering_is_the_way_to_go').toString(
  'base64',
);

function ofCallOf(id: string): string {
  const begin = { type: 'tool_begin', choice: 0, call: 0, id, name: 'f', arguments: '' } as const;
  return callEnvelope({ ...begin, providerData: google }) ?? '';
}
