/** Replaces the model in a body by the channel's name for it. */
import type { MemberEdit } from '../bytes/body/splice.ts';
import type { Call } from '../call.ts';
import { quoted } from '../canonical/raw-json.ts';

export function modelEdit({ modelId }: Call, upstreamModel: string): readonly MemberEdit[] {
  return modelId === upstreamModel ? [] : [{ name: 'model', value: quoted(upstreamModel) }];
}
