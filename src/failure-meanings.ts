/**
 * What each reason of a failure means, and what to do about it, for the pages and the programs that
 * show reasons to people. The gateway itself loads only {@link hostFailures}.
 */
import type { FailureReason } from './failure-reasons.ts';
import { type FailureMeaning, hostFailures } from './host-failures.ts';

/** For calls in doubt. */
const resolve =
  'find out whether that call ran, and say so: in the console, by `npx tollgate calls resolve`, ' +
  'or in code by `resolveUnknown`';

/** Every reason; `npm run generate` writes docs/events.md from this table. */
export const failureMeanings: Readonly<Record<FailureReason, FailureMeaning>> = {
  // The request.
  content_type: { meaning: 'the body is not JSON by its `content-type`' },
  charset: { meaning: 'the body is not UTF-8 by its `content-type`' },
  content_encoding: { meaning: 'the body is compressed' },
  body_consumed: {
    meaning: 'a body parser of the host left nothing of the body',
    remedy: 'mount the gateway before body parsers, or keep `req.rawBody`',
  },
  body_timeout: { meaning: 'the caller sent its body too slowly' },
  byte_budget: {
    meaning: 'the bodies of all callers, or of this key, reached their share of `maxBufferedBytes`',
    remedy: 'raise `maxBufferedBytes`, if the process has the memory',
  },
  bom: { meaning: 'the body begins with a byte order mark' },
  invalid_utf8: { meaning: 'the body has bytes that are not UTF-8' },
  invalid_json: { meaning: 'the body is not valid JSON' },
  not_an_object: { meaning: 'the body is JSON, but no object' },
  duplicate_key: { meaning: 'an object of the body has a name twice' },
  name_too_long: { meaning: 'a name in the body is too long' },
  too_deep: { meaning: 'the body is nested too deeply' },
  too_many_values: { meaning: 'the body has too many values' },
  // The key, and its share of the gateway.
  key_missing: { meaning: 'the request has no key, and nobody is signed in' },
  key_malformed: { meaning: 'the key can be none: it was cut or mistyped' },
  key_unknown: { meaning: 'the key store has no such key' },
  key_disabled: { meaning: 'the key is disabled', remedy: 'enable it, if that was a mistake' },
  key_expired: {
    meaning: 'the key has expired',
    remedy: 'issue a new key; in code, a key store of your own may set a later `expiresAtMs`',
  },
  session_not_allowed: { meaning: 'a session was sent from another site, or not as JSON' },
  failed_keys: {
    meaning: 'too many invalid keys came from this address',
    remedy: 'find out who sends them, if it continues',
  },
  concurrent_calls: {
    meaning: "the gateway, or this key's share of it, is at `maxConcurrentCalls`",
    remedy: 'raise it, or add processes',
  },
  in_flight: {
    meaning: 'the key, or a quota that it shares, is at its own `maxConcurrentCalls`',
    remedy: 'raise that limit in the record of the key, if it is too low',
  },
  rate: {
    meaning: 'a rate limit of the key, of a quota that it shares, or of the model is reached',
    remedy: 'raise the `limit` that the refusal names, if it is too low',
  },
  rate_too_large: {
    meaning: 'the call alone is larger than a rate limit',
    remedy: 'raise the limit, if such calls are allowed',
  },
  // The model, and what the call may use.
  invalid_request: { meaning: 'the call was refused as invalid before it was sent' },
  not_portable: {
    meaning:
      "the upstream's API has no counterpart for something in the call, and the model is strict",
    remedy: "use a channel of the caller's API, or a model that is not strict",
  },
  too_complex: { meaning: 'translating the call would take too long' },
  member_not_allowed: {
    meaning:
      'a member of the call costs extra or reaches other systems, which the model does not allow',
    remedy: "allow or price the member in the model's record",
  },
  media_not_priced: {
    meaning: 'the call has media for which the model has no rate',
    remedy: 'add the rate',
  },
  cost_not_bounded: {
    meaning: 'nothing bounds what the call may cost',
    remedy: 'state `contextTokens` in the model, or `mediaPartTokens.document` and `.reference`',
  },
  references_in_two_accounts: {
    meaning: 'the call refers to things that are stored at two accounts',
  },
  sealed_elsewhere: { meaning: 'the call has encrypted reasoning that another account made' },
  repeated_unknown: { meaning: 'the call repeats one whose outcome is unknown', remedy: resolve },
  // The quota.
  insufficient: {
    meaning: "the key's quota does not cover the call",
    remedy: 'top up or raise the limit, if it is too low',
  },
  unknown_subject: {
    meaning: 'the quota store has no limit for a subject of the key',
    remedy: 'set its limit in the record of the key',
  },
  disabled_subject: {
    meaning: 'a subject of the key is disabled in the quota store',
    remedy: 'enable it, if that was a mistake',
  },
  id_conflict: {
    meaning: 'the quota store already knew the id of the hold, with other content',
    remedy:
      'look at the quota store: it is your own or its data were changed, because ids are random',
  },
  hold_lapsed: {
    meaning: 'the hold ended before the rest of the prompt could be covered',
    remedy: "if it happens often, look at the quota store's clock and memory",
  },
  // A port of the host.
  keys_unavailable: portFailed('the key store'),
  sessions_unavailable: portFailed('the session store'),
  failed_key_limit_unavailable: {
    meaning: 'the limit of failed keys failed',
    remedy: 'look for the event `port_failed`, and at the store',
  },
  quota_unavailable: portFailed('the quota store'),
  catalog_unavailable: portFailed('the catalog'),
  guard_unavailable: {
    meaning: 'the guard failed or was too slow',
    remedy:
      "look for the event `port_failed`, and at the guard; `onFailure: 'pass'` lets calls pass",
  },
  rate_limiter_unavailable: portFailed('the rate limiter'),
  usage_unavailable: portFailed('the usage sink'),
  refusals_unavailable: {
    meaning: 'the log of refusals failed or was too slow; no request is refused for that',
    remedy: 'look for the event `port_failed`, and at the store',
  },
  idempotency_unavailable: portFailed('the idempotency store'),
  results_unavailable: portFailed('the store of kept replies'),
  response_index_unavailable: portFailed('the index of responses'),
  items_unavailable: portFailed('the store of output items'),
  credential_unavailable: hostFailures.credential_unavailable,
  // No channel could serve the call.
  none_configured: {
    meaning: 'the model has no channel with a weight',
    remedy: 'add one, or enable one',
  },
  protocol: {
    meaning: 'no channel of the model can serve this API or operation',
    remedy: 'add a channel that can',
  },
  group_restriction: {
    meaning: "no channel of the model is for this key's group",
    remedy: 'add the group to a channel',
  },
  price_restriction: {
    meaning: 'no channel has a price for what the call asks for',
    remedy: 'price it',
  },
  no_credential: {
    meaning: 'no channel has a credential for this key',
    remedy: "see that the channel's `credential` returns one",
  },
  other_account: {
    meaning:
      'the call refers to something that is stored at an account that the model no longer has',
    remedy: "add the account's channel again, if it was removed by mistake",
  },
  switched_off: { meaning: 'the channels are disabled', remedy: 'enable one' },
  account_refused: {
    meaning: 'the upstream did not accept the credentials of the channels',
    remedy: hostFailures.upstream_auth_error.remedy,
  },
  busy: {
    meaning: 'the channels are at their limit of concurrent calls',
    remedy: 'raise the limits, or add an account',
  },
  cooling_down: {
    meaning: 'the channels failed lately and are not used for a while',
    remedy:
      'see the reason of each: in the console, by `npx tollgate channels`, or in code by ' +
      '`gateway.channels()`',
  },
  // The connection to the upstream.
  dns: hostFailures.dns,
  connect_refused: hostFailures.connect_refused,
  connect_timeout: {
    meaning: 'the upstream did not accept the connection in time',
    remedy: "check the network and the provider's status page",
  },
  unreachable: { meaning: 'there is no route to the upstream', remedy: 'check the network' },
  tls: hostFailures.tls,
  too_many_files: { meaning: 'the process has no file descriptor left', remedy: 'raise its limit' },
  out_of_ports: { meaning: 'the machine has no port left', remedy: 'add addresses or machines' },
  queue_timeout: {
    meaning: 'no connection to the upstream became free in time',
    remedy: "add processes, or in code raise the client's `connections`",
  },
  refused_locally: {
    meaning: 'the client refused the request before it sent it',
    remedy: "check the channel's headers and credential for characters that HTTP does not allow",
  },
  reset: {
    meaning: 'the connection was reset',
    remedy: 'look at the network, if it happens often',
  },
  closed: {
    meaning: 'the connection was closed early',
    remedy: 'look at the network, if it happens often',
  },
  aborted: { meaning: 'the request was aborted' },
  bad_response: { meaning: 'the upstream did not answer in valid HTTP', remedy: 'check `baseUrl`' },
  client_failed: hostFailures.client_failed,
  failed: hostFailures.failed,
  // The upstream was late.
  headers_timeout: {
    meaning: 'the upstream did not begin its reply in time',
    remedy:
      'raise `timeouts.firstByteMs` (or `timeouts.firstByteStreamedMs`), if the model is that slow',
  },
  idle_timeout: {
    meaning: 'the reply paused for too long',
    remedy: 'raise `timeouts.idleMs`, if the model does that',
  },
  silent_stream: {
    meaning: 'the stream sent only keep-alives and nothing with content',
    remedy: 'raise `timeouts.firstTokenMs`, if the model is that slow',
  },
  total_timeout: {
    meaning: 'the call reached `timeouts.totalMs`',
    remedy: 'raise it, if such calls are intended',
  },
  slow: { meaning: 'the channel keeps calls waiting while others answer' },
  // The upstream refused.
  upstream_refused: {
    meaning: 'the upstream refused the request as invalid',
    remedy: "read its message in the caller's error",
  },
  upstream_forbidden: {
    meaning: "the upstream refused the account, or the account's use of the model",
    remedy: "check the account's permissions",
  },
  upstream_model_not_found: hostFailures.upstream_model_not_found,
  upstream_auth_error: hostFailures.upstream_auth_error,
  upstream_unpaid: {
    meaning: 'the account has no money left',
    remedy: 'pay, or switch the channel off',
  },
  upstream_rate_limited: {
    meaning: 'the account is at its rate limit',
    remedy: 'add an account, or ask for a higher limit',
  },
  upstream_timeout: {
    meaning: 'the upstream answered that it ran out of time',
    remedy: "see the provider's status page",
  },
  upstream_overloaded: {
    meaning: 'the upstream answered that it is overloaded',
    remedy: "see the provider's status page",
  },
  upstream_error: {
    meaning: 'the upstream answered with an error of its own',
    remedy: "see the provider's status page",
  },
  // The reply was unusable.
  encoded: {
    meaning: 'the reply is compressed in a way that the gateway does not read',
    remedy: 'check what is between the gateway and the upstream',
  },
  compression_bomb: {
    meaning: 'the reply expands to far more than it may',
    remedy: 'check what is between the gateway and the upstream',
  },
  event_too_large: { meaning: 'an event of the stream is too large' },
  reply_too_large: { meaning: 'the reply is too large' },
  upstream_protocol_error: {
    meaning: "the upstream's answer does not follow its API",
    remedy: 'check `baseUrl` and `dialect`',
  },
  upstream_empty: {
    meaning: 'the embeddings reply has no vectors',
    remedy: 'look at the upstream',
  },
  upstream_truncated: {
    meaning: 'the reply ended early',
    remedy: 'look at the network, if it happens often',
  },
  upstream_stream_truncated: {
    meaning: 'the stream ended without its last event',
    remedy: 'look at the network, if it happens often',
  },
  upstream_bad_stream: {
    meaning: 'the stream is not made of events',
    remedy: 'check `baseUrl` and `dialect`',
  },
  upstream_reply_too_large: { meaning: 'the reply is larger than the gateway reads' },
  upstream_empty_response: {
    meaning: 'the reply has no content',
    remedy: 'look at the upstream, if it happens often',
  },
  upstream_unusable: {
    meaning: 'the embeddings reply is not in a form that can be read',
    remedy: 'check `dialect`',
  },
  upstream_unusable_output: {
    meaning: "the model's output can't be given to the caller, such as a tool call without its end",
  },
  upstream_no_image: { meaning: 'the reply has no image' },
  upstream_image_not_base64: {
    meaning: 'the image of the reply is not Base64',
    remedy: 'check `dialect`',
  },
  upstream_count: {
    meaning: 'the embeddings reply has another number of vectors than the call has inputs',
    remedy: 'look at the upstream',
  },
  upstream_still_running: {
    meaning: 'the provider goes on with the response after its reply ended',
    remedy: resolve,
  },
  upstream_failed: {
    meaning: 'the reply says that the model failed',
    remedy: "see the provider's status page",
  },
  // The end of a call.
  caller_left: { meaning: 'the caller disconnected' },
  caller_stalled: { meaning: 'the caller stopped reading' },
  hold_used_up: {
    meaning: 'the reply used up what the quota could still cover',
    remedy: 'top up or raise the limit, if it is too low',
  },
  draining: {
    meaning: 'the gateway was closing',
    remedy:
      'if calls need longer, raise `shutdown.drainMs` of the configuration, or in code `drainMs` ' +
      'of `close`',
  },
  resolved: {
    meaning: 'an operator ended a call in doubt; of a refusal: its hold had already ended',
  },
  internal_error: {
    meaning: 'a bug, or a record that was changed while the call ran',
    remedy: 'look for the event `internal_error`, and report it',
  },
  other: {
    meaning: 'a reason that this version does not know, from your own client or an older record',
  },
};

function portFailed(port: string): FailureMeaning {
  return {
    meaning: `${port} failed or was too slow`,
    remedy: 'look for the event `port_failed`, and at the store',
  };
}
