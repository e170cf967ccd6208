/** The signature of a Gemini model that hides behind an OpenAI-shaped door (TRANSLATION §6.9). */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type JsonValue, member } from '../../../json.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** On a call, a message or a delta: in Google's form, or in the bare one of its early days. */
export function signatureOf(holder: JsonValue | undefined): ProviderData | undefined {
  const google = member(member(holder, 'extra_content'), 'google');
  const data =
    stringOrEmpty(member(google, 'thought_signature')) ||
    stringOrEmpty(member(holder, 'thought_signature'));
  return data === '' ? undefined : { provider: 'gemini', kind: 'signature', data };
}
