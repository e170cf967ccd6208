/** What differs in requests for Claude on Bedrock, and in their bodies for `InvokeModel`. */
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import type { HostedEdits, HostedRequest } from '../../dialects/hosting.ts';
import { apiVersion, betaHeader, claudeEdits } from '../anthropic-betas.ts';

/** The one version whose name in a body differs. */
const versionNames: Readonly<Record<string, string>> = { '2023-06-01': 'bedrock-2023-05-31' };

/** Of a request for `InvokeModel`: what is a header elsewhere is in the body, and vice versa. */
export function invokeEdits(request: HostedRequest): HostedEdits {
  const version = apiVersion(request);
  const { [betaHeader]: list } = { ...request.headers, ...request.channelHeaders };
  const { edits, flags, cuts, dropped } = claudeEdits(request, 'bedrock', list);
  return {
    edits: [
      ...edits,
      { name: 'model', value: undefined },
      { name: 'stream', value: undefined },
      { name: 'anthropic_version', value: jsonText(versionNames[version] ?? version) },
      { name: 'anthropic_beta', value: flags.length === 0 ? undefined : jsonText(flags) },
      ...(request.operation === 'count_tokens' ? boundToCount(request.tape) : []),
    ],
    cuts,
    // What AWS would stream has a type of its own.
    headers: { accept: 'application/json' },
    search: '',
    dropped,
  };
}

/** AWS checks the body that it counts like one to run, which needs a bound. */
function boundToCount(tape: Tape): readonly MemberEdit[] {
  const name = 'max_tokens';
  return tape.get(root, name) === none ? [{ name, value: '1' }] : [];
}

/** Wraps a body for `CountTokens`. */
export function bodyToCount(body: readonly Uint8Array[]): readonly Uint8Array[] {
  const base64 = Buffer.concat(body).toString('base64');
  return [Buffer.from(`{"input":{"invokeModel":{"body":"${base64}"}}}`)];
}
