/**
 * The optional port that looks at a call before it is paid for: moderation, allow-lists, an audit
 * of prompts, labels for the usage record.
 */
import type { OperationName } from '../apis.ts';
import type { CallOptions, MaybePromise } from './call-options.ts';
import type { ApiKey } from './keys/key-store.ts';
import type { Model, ProtocolName } from './models/catalog.ts';

/** A call that a guard looks at. */
export interface GuardedCall {
  /** The record as the key store returned it, and not a copy: do not change it. */
  readonly key: ApiKey;
  /** The record as the catalog returned it, and not a copy: do not change it. */
  readonly model: Model;
  /** The API that the caller used; the members of the body are those of this API. */
  readonly protocol: ProtocolName;
  /** What the API is asked to do, such as `content` or `embed`. */
  readonly operation: OperationName;
  /**
   * The request body as parsed JSON, frozen at every level. Parsed at the first use, so a guard
   * that needs no content costs no time. It is a prompt: keep it out of logs.
   *
   * @throws GatewayError `too_complex` for a body of more than 100,000 values, and
   *   `invalid_request` for one that is no JSON. Let it pass: the caller then gets this error
   */
  body(): unknown;
  /**
   * All strings of the body, and the texts that are encoded in them: JSON in a string, such as the
   * `arguments` of a tool call, and text in Base64 and in data URLs, such as a file. Decoded at the
   * first use. For moderation, which reads the same texts as the model.
   *
   * @throws GatewayError as {@link body}
   */
  texts(): readonly string[];
}

/** A guard's decision about a call: it may run, with labels, or it is refused. */
export interface GuardDecision {
  /**
   * Refuses the call: the sentence for the caller, of which 300 characters are sent. Say what to do
   * instead, and repeat nothing of the prompt.
   */
  readonly refuse?: string;
  /**
   * Labels for the usage record, in addition to those of the key, which take precedence. At most
   * 16, with names of at most 64 characters and values of at most 512.
   */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Checks calls. Implemented by the host. */
export interface Guard {
  /**
   * Decides about a call with a body, after its key, its rate and its model have been checked and
   * before it costs anything. Undefined, null and `{}` let it run; an object with other members
   * than those of `GuardDecision`, or an instance of a class, does not, so that no
   * call runs because its refusal was misspelt. It must answer within 2 s.
   */
  check(call: GuardedCall, options?: CallOptions): MaybePromise<GuardDecision | undefined>;
  /**
   * What happens to a call if `check` throws, takes too long or returns something else: `refuse`
   * (default) answers 503, `pass` lets it run unchecked.
   */
  readonly onFailure?: 'refuse' | 'pass';
}
