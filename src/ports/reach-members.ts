/** The members of requests that reach beyond the call, and which of them a model allows. */

/**
 * Members of a request that reach beyond the call: they name another model, property of the
 * upstream account, or a server that the caller chooses. They are refused on every model unless its
 * record allows them (`Model.allow`).
 */
export type ReachMember =
  | 'fallbacks'
  | 'models'
  | 'route'
  | 'provider'
  | 'plugins'
  | 'preset'
  | 'advisor'
  | 'file_id'
  | 'container'
  | 'thread'
  | 'mcp'
  | 'file_search'
  | 'code_interpreter'
  | 'shell'
  | 'endpoint'
  | 'billing_policy';

/**
 * The members of {@link ReachMember} that callers may use: with any value (`true`), or with these
 * models only.
 */
export type AllowedMembers = {
  readonly [Row in ReachMember]?: true | { readonly models: readonly string[] };
};
