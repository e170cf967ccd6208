/**
 * What a provider's models can take and give: a table a dialect, the newest generation for a name
 * nobody knows, every flag overridden by the channel's own (TRANSLATION §9).
 */
import type { Capabilities } from '../ports/catalog.ts';

/** Every flag decided. What only one dialect asks for has a harmless value in the others. */
export type ResolvedCapabilities = { readonly [Flag in keyof Capabilities]-?: Capabilities[Flag] };

/** The models of one provider. */
export interface CapabilityTable {
  /** True of the newest generation. */
  readonly newest: ResolvedCapabilities;
  /** Names of models that the table knows; for any other, `unknown` counts as well. */
  readonly known?: RegExp;
  /** Where a model that nobody knows is to get what every current model takes. */
  readonly unknown?: Capabilities;
  /** What is otherwise with others; the first row that matches the upstream's name counts. */
  readonly older: readonly { readonly models: RegExp; readonly flags: Capabilities }[];
}

/** The flags of an upstream model: the table's, then what its channel says otherwise. */
export function capabilitiesOf(
  { newest, known, unknown, older }: CapabilityTable,
  upstreamModel: string,
  own: Capabilities | undefined,
): ResolvedCapabilities {
  const row = older.find(({ models }) => models.test(upstreamModel));
  const isKnown = row !== undefined || known === undefined || known.test(upstreamModel);
  return { ...newest, ...(isKnown ? row?.flags : unknown), ...defined(own) };
}

/** An override that is there but undefined overrides nothing. */
function defined(own: Capabilities = {}): Capabilities {
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
}
