/** What differs in requests for Claude on Bedrock, and in their bodies for `InvokeModel`. */
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import type { HostedEdits, HostedRequest } from '../../dialects/hosting.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import {
  type HostedClaude,
  headerMembers,
  headerMembersIn,
  hostedBetas,
  refusedMembers,
} from '../anthropic-betas.ts';

export const betaHeader = 'anthropic-beta';
const versionHeader = 'anthropic-version';
/** The versions of Anthropic's API on Bedrock, by the names that they have in a body there. */
const versions: ReadonlyMap<string, string> = new Map([
  ['2023-06-01', 'bedrock-2023-05-31'],
  ['2026-10-21', '2026-10-21'],
]);
/** The one that the gateway's own requests are written for. */
const ownVersion = '2023-06-01';

/** Of a request with a path and a body as Anthropic's own. */
export function messagesEdits(request: HostedRequest): HostedEdits {
  versionOf(request);
  const there = thereOf(request, 'mantle');
  const { [betaHeader]: list, ...headers } = request.headers;
  const { sent, dropped } = hostedBetas(list, there);
  const flags: HeaderMap = sent.length === 0 ? {} : { [betaHeader]: sent.join(',') };
  return editsOf(request, there, {
    edits: headerMembers.map((name) => ({ name, value: undefined })),
    headers: { ...headers, ...flags },
    search: request.search,
    dropped,
  });
}

/** Of a request for `InvokeModel`: what is a header elsewhere is in the body, and vice versa. */
export function invokeEdits(request: HostedRequest): HostedEdits {
  const there = thereOf(request, 'bedrock');
  const { [betaHeader]: list } = { ...request.headers, ...request.channelHeaders };
  const { sent, dropped } = hostedBetas(list, there);
  return editsOf(request, there, {
    edits: [
      { name: 'model', value: undefined },
      { name: 'stream', value: undefined },
      { name: 'anthropic_version', value: jsonText(versionOf(request)) },
      { name: 'anthropic_beta', value: sent.length === 0 ? undefined : jsonText(sent) },
      ...(there.countsTokens ? boundToCount(request.tape) : []),
    ],
    // What AWS would stream has a type of its own.
    headers: { accept: 'application/json' },
    search: '',
    dropped,
  });
}

/** AWS checks the body that it counts like one to run, which needs a bound. */
function boundToCount(tape: Tape): readonly MemberEdit[] {
  const name = 'max_tokens';
  return tape.get(root, name) === none ? [{ name, value: '1' }] : [];
}

function editsOf(
  { tape }: HostedRequest,
  there: HostedClaude,
  own: Omit<HostedEdits, 'cuts'>,
): HostedEdits {
  const refused = refusedMembers(tape, there);
  return {
    ...own,
    edits: [...own.edits, ...refused.edits],
    cuts: refused.cuts,
    dropped: [...own.dropped, ...refused.dropped, ...headerMembersIn(tape)],
  };
}

function thereOf({ operation }: HostedRequest, host: HostedClaude['host']): HostedClaude {
  return { host, countsTokens: operation === 'count_tokens' };
}

/** The version of the caller's API by its name in a body; other versions may differ in anything. */
function versionOf({ headers }: HostedRequest): string {
  const version = versions.get(headers[versionHeader] ?? ownVersion);
  if (version !== undefined) return version;
  const known = [...versions.keys()].join(' or ');
  throw new GatewayError(
    'not_portable',
    `Bedrock does not have this version of the API. Send ${known} as ${versionHeader}.`,
    { param: versionHeader },
  );
}

/** Wraps a body for `CountTokens`. */
export function bodyToCount(body: readonly Uint8Array[]): readonly Uint8Array[] {
  const base64 = Buffer.concat(body).toString('base64');
  return [Buffer.from(`{"input":{"invokeModel":{"body":"${base64}"}}}`)];
}
