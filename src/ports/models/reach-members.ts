/** The members of requests that reach beyond the call, and which of them a model allows. */

/**
 * Members of a request that reach beyond the call: they name another model, what belongs to the
 * upstream account, or a server that the caller chooses. They are refused on every model unless its
 * record allows them (`Model.allow`). `other_tools` are tools that are not known to run at the
 * caller and have no row of their own; a free model accepts those without a vendor's prefix.
 */
export type ReachMember = (typeof reachMembers)[number];

/** All of them. */
export const reachMembers = [
  ...['fallbacks', 'models', 'svg', 'route', 'provider', 'plugins', 'preset', 'advisor'],
  ...['file_id', 'container', 'thread', 'mcp', 'file_search', 'code_interpreter', 'shell'],
  ...['other_tools', 'endpoint', 'billing_policy'],
] as const;

/**
 * The members of {@link ReachMember} that callers may use: with any value (`true`), or with these
 * models only.
 */
export type AllowedMembers = {
  readonly [Row in Exclude<ReachMember, 'other_tools'>]?:
    | true
    | {
        /** The only models that may be named there. */
        readonly models: readonly string[];
      };
} & {
  /** Tools of any type (`true`), or of these types, spelled as callers send them. */
  readonly other_tools?:
    | true
    | {
        /** The only types of tools, spelled as callers send them. */
        readonly types: readonly string[];
      };
  /** Of a wildcard: fine-tuned models of the account, any (`true`) or those with these names. */
  readonly fine_tuned?:
    | true
    | {
        /** The only names of fine-tuned models. */
        readonly models: readonly string[];
      };
};
