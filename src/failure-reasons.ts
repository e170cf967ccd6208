/**
 * The reasons of failures and refusals, in events, usage records and the health of channels. They
 * are names of ours: no text of a caller, a host or an upstream is ever one.
 */

const names = [
  // The request.
  ...['content_type', 'charset', 'content_encoding', 'body_consumed', 'body_timeout'],
  ...['byte_budget', 'bom', 'invalid_utf8', 'invalid_json', 'not_an_object', 'duplicate_key'],
  ...['name_too_long', 'too_deep', 'too_many_values'],
  // The key, and its share of the gateway.
  ...['key_missing', 'key_malformed', 'key_unknown', 'key_disabled', 'key_expired'],
  ...['session_not_allowed', 'failed_keys', 'concurrent_calls', 'in_flight', 'rate'],
  ...['rate_too_large'],
  // The model, and what the call may use.
  ...['invalid_request', 'not_portable', 'too_complex', 'member_not_allowed', 'media_not_priced'],
  ...['cost_not_bounded', 'references_in_two_accounts', 'sealed_elsewhere', 'repeated_unknown'],
  // The quota.
  ...['insufficient', 'no_subject', 'unknown_subject', 'disabled_subject', 'id_conflict'],
  ...['hold_lapsed'],
  // A port of the host.
  ...['keys_unavailable', 'sessions_unavailable', 'failed_key_limit_unavailable'],
  ...['quota_unavailable', 'catalog_unavailable', 'guard_unavailable', 'rate_limiter_unavailable'],
  ...['usage_unavailable', 'refusals_unavailable', 'idempotency_unavailable'],
  ...['results_unavailable', 'response_index_unavailable', 'items_unavailable'],
  ...['credential_unavailable'],
  // No channel could serve the call.
  ...['none_configured', 'protocol', 'group_restriction', 'price_restriction', 'no_credential'],
  ...['other_account', 'switched_off', 'account_refused', 'busy', 'cooling_down'],
  // The connection to the upstream.
  ...['dns', 'connect_refused', 'connect_timeout', 'unreachable', 'tls', 'too_many_files'],
  ...['out_of_ports', 'queue_timeout', 'refused_locally', 'reset', 'closed', 'aborted'],
  ...['bad_response', 'client_failed', 'failed'],
  // The upstream was late.
  ...['headers_timeout', 'idle_timeout', 'silent_stream', 'total_timeout', 'slow'],
  // The upstream refused.
  ...['upstream_refused', 'upstream_forbidden', 'upstream_model_not_found', 'upstream_auth_error'],
  ...['credential_renewed'],
  ...['upstream_unpaid', 'upstream_rate_limited', 'upstream_timeout', 'upstream_overloaded'],
  ...['upstream_error'],
  // The reply was unusable.
  ...['encoded', 'compression_bomb', 'event_too_large', 'reply_too_large'],
  ...['upstream_protocol_error', 'upstream_empty', 'upstream_truncated'],
  ...['upstream_stream_truncated', 'upstream_bad_stream', 'upstream_reply_too_large'],
  ...['upstream_empty_response', 'upstream_unusable', 'upstream_unusable_output'],
  ...['upstream_no_image', 'upstream_image_not_base64', 'upstream_count', 'upstream_still_running'],
  ...['upstream_failed'],
  // The end of a call.
  ...['caller_left', 'caller_stalled', 'hold_used_up', 'draining', 'resolved', 'internal_error'],
  ...['other'],
] as const;

/** Why a request was refused, an attempt failed, or a call ended as it did. */
export type FailureReason = (typeof names)[number];

/**
 * Why no channel can serve a call: none is configured with a weight, none supports the protocol,
 * none is allowed for this group or this price, none has a credential for this key, none is of the
 * account that has what the call refers to; or all that are allowed are disabled, of accounts that
 * were refused, at their limit of concurrent calls, or cooling down, or their upstream does not
 * know the model.
 */
export type NoChannelReason = Extract<
  FailureReason,
  | 'none_configured'
  | 'protocol'
  | 'group_restriction'
  | 'price_restriction'
  | 'no_credential'
  | 'other_account'
  | 'switched_off'
  | 'account_refused'
  | 'upstream_model_not_found'
  | 'busy'
  | 'cooling_down'
>;

/** All reasons, in the order of the stages that give them. */
export const failureReasons: readonly FailureReason[] = names;

const known: ReadonlySet<string> = new Set(failureReasons);

/** Whether the value is a reason of ours. */
export function isFailureReason(value: unknown): value is FailureReason {
  return typeof value === 'string' && known.has(value);
}

/**
 * The reason with this name, or `other`: a client of the host, or a record that another version
 * wrote, may name a reason that this version does not know.
 */
export function failureReasonOf(name: unknown): FailureReason {
  return isFailureReason(name) ? name : 'other';
}

export function storedReason(name: string | undefined): FailureReason | undefined {
  return name === undefined ? undefined : failureReasonOf(name);
}
