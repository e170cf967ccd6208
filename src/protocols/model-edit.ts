/** Names the model as the channel knows it, in a body that names it itself. */
import type { MemberEdit } from '../bytes/body/splice.ts';
import type { Call } from '../call.ts';
import { quoted } from '../canonical/raw-json.ts';

/** No edit where both have the same name. */
export function modelEdit({ modelId }: Call, upstreamModel: string): readonly MemberEdit[] {
  return modelId === upstreamModel ? [] : [{ name: 'model', value: quoted(upstreamModel) }];
}
