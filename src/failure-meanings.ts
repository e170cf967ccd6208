/**
 * What each reason of a failure means, and what to do about it, for the pages and the programs that
 * show reasons to people. The gateway itself loads only {@link hostFailures}.
 */
import type { FailureReason } from './failure-reasons.ts';
import { type FailureMeaning, hostFailures } from './host/failures.ts';

const seeStatusPage = "see the provider's status page";
const seeNetwork = 'look at the network, if it happens often';
/** For calls in doubt. */
const resolve =
  'find out whether that call ran, and say so: in the console, by `npx tollgate calls resolve`, ' +
  'or in code by `resolveUnknown`';

/** Every reason; `npm run generate` writes docs/events.md from this table. */
export const failureMeanings: Readonly<Record<FailureReason, FailureMeaning>> = {
  // The request.
  content_type: row('the body is not JSON by its `content-type`'),
  charset: row('the body is not UTF-8 by its `content-type`'),
  content_encoding: row('the body is compressed'),
  body_consumed: row(
    'a body parser of the host left nothing of the body',
    'mount the gateway before body parsers, or keep `req.rawBody`',
  ),
  body_timeout: row('the caller sent its body too slowly'),
  byte_budget: row(
    'the bodies of all callers, or of this key, reached their share of `maxBufferedBytes`',
    'raise `maxBufferedBytes`, if the process has the memory',
  ),
  bom: row('the body begins with a byte order mark'),
  invalid_utf8: row('the body has bytes that are not UTF-8'),
  invalid_json: row('the body is not valid JSON'),
  not_an_object: row('the body is JSON, but no object'),
  duplicate_key: row('an object of the body has a name twice'),
  name_too_long: row('a name in the body is too long'),
  too_deep: row('the body is nested too deeply'),
  too_many_values: row('the body has too many values'),
  // The key, and its share of the gateway.
  key_missing: row('the request has no key, and nobody is signed in'),
  key_malformed: row('the key can be none: it was cut or mistyped'),
  key_unknown: row('the key store has no such key'),
  key_disabled: row('the key is disabled', 'enable it, if that was a mistake'),
  key_expired: row(
    'the key has expired',
    'issue a new key; in code, a key store of your own may set a later `expiresAtMs`',
  ),
  session_not_allowed: row('a session was sent from another site, or not as JSON'),
  failed_keys: row(
    'too many invalid keys came from this address',
    'find out who sends them, if it continues',
  ),
  concurrent_calls: row(
    "the gateway, or this key's share of it, is at `maxConcurrentCalls`",
    'raise it, or add processes',
  ),
  in_flight: row(
    'the key, or a quota that it shares, is at its own `maxConcurrentCalls`',
    'raise that limit in the record of the key, if it is too low',
  ),
  rate: row(
    'a rate limit of the key, of a quota that it shares, or of the model is reached',
    'raise the `limit` that the refusal names, if it is too low',
  ),
  rate_too_large: row(
    'the call alone is larger than a rate limit',
    'raise the limit, if such calls are allowed',
  ),
  // The model, and what the call may use.
  invalid_request: row('the call was refused as invalid before it was sent'),
  not_portable: row(
    "the upstream's API has no counterpart for something in the call, and the model is strict",
    "use a channel of the caller's API, or a model that is not strict",
  ),
  too_complex: row('translating the call would take too long'),
  member_not_allowed: row(
    'a member of the call costs extra or reaches other systems, which the model does not allow',
    "allow or price the member in the model's record",
  ),
  media_not_priced: row('the call has media for which the model has no rate', 'add the rate'),
  cost_not_bounded: row(
    'nothing bounds what the call may cost',
    'state `contextTokens` in the model, or `mediaPartTokens.document` and `.reference`',
  ),
  references_in_two_accounts: row('the call refers to things that are stored at two accounts'),
  sealed_elsewhere: row('the call has encrypted reasoning that another account made'),
  repeated_unknown: row('the call repeats one whose outcome is unknown', resolve),
  // The quota.
  insufficient: row(
    "the key's quota does not cover the call",
    'top up or raise the limit, if it is too low',
  ),
  no_subject: row(
    'no quota subject of the key is for the model',
    'add the model to one of them, or a subject without `models`',
  ),
  unknown_subject: row(
    'the quota store has no limit for a subject of the key',
    'set its limit in the record of the key',
  ),
  disabled_subject: row(
    'a subject of the key is disabled in the quota store',
    'enable it, if that was a mistake',
  ),
  id_conflict: row(
    'the quota store already knew the id of the hold, with other content',
    'look at the quota store: it is your own or its data were changed, because ids are random',
  ),
  hold_lapsed: row(
    'the hold ended before the rest of the prompt could be covered',
    "if it happens often, look at the quota store's clock and memory",
  ),
  // A port of the host.
  keys_unavailable: portFailed('the key store'),
  sessions_unavailable: portFailed('the session store'),
  failed_key_limit_unavailable: row(
    'the limit of failed keys failed',
    'look for the event `port_failed`, and at the store',
  ),
  quota_unavailable: portFailed('the quota store'),
  catalog_unavailable: portFailed('the catalog'),
  guard_unavailable: row(
    'the guard failed or was too slow',
    "look for the event `port_failed`, and at the guard; `onFailure: 'pass'` lets calls pass",
  ),
  rate_limiter_unavailable: portFailed('the rate limiter'),
  usage_unavailable: portFailed('the usage sink'),
  refusals_unavailable: row(
    'the log of refusals failed or was too slow; no request is refused for that',
    'look for the event `port_failed`, and at the store',
  ),
  idempotency_unavailable: portFailed('the idempotency store'),
  results_unavailable: portFailed('the store of kept replies'),
  response_index_unavailable: portFailed('the index of responses'),
  items_unavailable: portFailed('the store of output items'),
  cluster_unavailable: row(
    'the store of replicas and switches failed or was too slow; no request is refused for that',
    'look for the event `port_failed`, and at the store',
  ),
  credential_unavailable: hostFailures.credential_unavailable,
  // No channel could serve the call.
  none_configured: row('the model has no channel with a weight', 'add one, or enable one'),
  protocol: row(
    'no channel of the model can serve this API or operation',
    'add a channel that can',
  ),
  group_restriction: row(
    "no channel of the model is for this key's group",
    'add the group to a channel',
  ),
  price_restriction: row('no channel has a price for what the call asks for', 'price it'),
  no_credential: row(
    'no channel has a credential for this key',
    "see that the channel's `credential` returns one",
  ),
  other_account: row(
    'the call refers to something that is stored at an account that the model no longer has',
    "add the account's channel again, if it was removed by mistake",
  ),
  switched_off: row('the channels are disabled', 'enable one'),
  account_refused: row(
    'the upstream did not accept the credentials of the channels',
    hostFailures.upstream_auth_error.remedy,
  ),
  busy: row(
    'the channels are at their limit of concurrent calls',
    'raise the limits, or add an account',
  ),
  cooling_down: row(
    'the channels failed lately and are not used for a while',
    'see the reason of each: in the console, by `npx tollgate channels`, or in code by ' +
      '`gateway.channels()`',
  ),
  // The connection to the upstream.
  dns: hostFailures.dns,
  connect_refused: hostFailures.connect_refused,
  connect_timeout: row(
    'the upstream did not accept the connection in time',
    "check the network and the provider's status page",
  ),
  unreachable: row('there is no route to the upstream', 'check the network'),
  tls: hostFailures.tls,
  too_many_files: row('the process has no file descriptor left', 'raise its limit'),
  out_of_ports: row('the machine has no port left', 'add addresses or machines'),
  queue_timeout: row(
    'no connection to the upstream became free in time',
    "add processes, or in code raise the client's `connections`",
  ),
  refused_locally: row(
    'the client refused the request before it sent it',
    "check the channel's headers and credential for characters that HTTP does not allow",
  ),
  reset: row('the connection was reset', seeNetwork),
  closed: row('the connection was closed early', seeNetwork),
  aborted: row('the request was aborted'),
  bad_response: row('the upstream did not answer in valid HTTP', 'check `baseUrl`'),
  client_failed: hostFailures.client_failed,
  failed: hostFailures.failed,
  // The upstream was late.
  headers_timeout: row(
    'the upstream did not begin its reply in time',
    'raise `timeouts.firstByteMs` (or `timeouts.firstByteStreamedMs`), if the model is that slow',
  ),
  idle_timeout: row(
    'the reply paused for too long',
    'raise `timeouts.idleMs`, if the model does that',
  ),
  silent_stream: row(
    'the stream sent only keep-alives and nothing with content',
    'raise `timeouts.firstTokenMs`, if the model is that slow',
  ),
  total_timeout: row('the call reached `timeouts.totalMs`', 'raise it, if such calls are intended'),
  slow: row('the channel keeps calls waiting while others answer'),
  // The upstream refused.
  upstream_refused: row(
    'the upstream refused the request as invalid',
    "read its message in the caller's error",
  ),
  upstream_forbidden: row(
    "the upstream refused the account, or the account's use of the model",
    "check the account's permissions",
  ),
  upstream_model_not_found: hostFailures.upstream_model_not_found,
  upstream_auth_error: hostFailures.upstream_auth_error,
  credential_renewed: row('the upstream refused a secret, and the call went on with a new one'),
  upstream_unpaid: row('the account has no money left', 'pay, or switch the channel off'),
  upstream_rate_limited: row(
    'the account is at its rate limit',
    'add an account, or ask for a higher limit',
  ),
  upstream_timeout: row('the upstream answered that it ran out of time', seeStatusPage),
  upstream_overloaded: row('the upstream answered that it is overloaded', seeStatusPage),
  upstream_error: row('the upstream answered with an error of its own', seeStatusPage),
  // The reply was unusable.
  encoded: row(
    'the reply is compressed in a way that the gateway does not read',
    'check what is between the gateway and the upstream',
  ),
  compression_bomb: row(
    'the reply expands to far more than it may',
    'check what is between the gateway and the upstream',
  ),
  event_too_large: row('an event of the stream is too large'),
  reply_too_large: row('the reply is too large'),
  upstream_protocol_error: row(
    "the upstream's answer does not follow its API",
    'check `baseUrl` and `dialect`',
  ),
  upstream_empty: row('the embeddings reply has no vectors', 'look at the upstream'),
  upstream_truncated: row('the reply ended early', seeNetwork),
  upstream_stream_truncated: row('the stream ended without its last event', seeNetwork),
  upstream_bad_stream: row('the stream is not made of events', 'check `baseUrl` and `dialect`'),
  upstream_reply_too_large: row('the reply is larger than the gateway reads'),
  upstream_empty_response: row(
    'the reply has no content',
    'look at the upstream, if it happens often',
  ),
  upstream_unusable: row(
    'the embeddings reply is not in a form that can be read',
    'check `dialect`',
  ),
  upstream_unusable_output: row(
    "the model's output can't be given to the caller, such as a tool call without its end",
  ),
  upstream_no_image: row('the reply has no image'),
  upstream_image_not_base64: row('the image of the reply is not Base64', 'check `dialect`'),
  upstream_count: row(
    'the embeddings reply has another number of vectors than the call has inputs',
    'look at the upstream',
  ),
  upstream_still_running: row(
    'the provider goes on with the response after its reply ended',
    resolve,
  ),
  upstream_failed: row('the reply says that the model failed', seeStatusPage),
  // The end of a call.
  caller_left: row('the caller disconnected'),
  caller_stalled: row('the caller stopped reading'),
  hold_used_up: row(
    'the reply used up what the quota could still cover',
    'top up or raise the limit, if it is too low',
  ),
  draining: row(
    'the gateway was closing',
    'if calls need longer, raise `shutdown.drainMs` of the configuration, or in code `drainMs` ' +
      'of `close`',
  ),
  resolved: row('an operator ended a call in doubt; of a refusal: its hold had already ended'),
  internal_error: row(
    'a bug, or a record that was changed while the call ran',
    'look for the event `internal_error`, and report it',
  ),
  other: row('a reason that this version does not know, from your own client or an older record'),
};

function row(meaning: string, remedy?: string): FailureMeaning {
  return { meaning, ...(remedy === undefined ? {} : { remedy }) };
}

function portFailed(port: string): FailureMeaning {
  return {
    meaning: `${port} failed or was too slow`,
    remedy: 'look for the event `port_failed`, and at the store',
  };
}
