/** Reads the signature of a Gemini model that is served through an OpenAI-compatible API. */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type JsonValue, member, stringOrEmpty } from '../../../json.ts';

/** Reads Google's form, or the older form without a wrapper. */
export function signatureOf(holder: JsonValue | undefined): ProviderData | undefined {
  const google = member(member(holder, 'extra_content'), 'google');
  const data =
    stringOrEmpty(member(google, 'thought_signature')) ||
    stringOrEmpty(member(holder, 'thought_signature'));
  return data === '' ? undefined : { provider: 'gemini', kind: 'signature', data };
}
