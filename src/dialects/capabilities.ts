/**
 * Model capabilities: one table for each dialect. A model name that no row matches gets the flags
 * of the newest generation, and a channel can override every flag.
 */
import type { Capabilities } from '../ports/catalog.ts';

/**
 * Capabilities with every flag set. A flag that only one dialect reads has a harmless value in the
 * other dialects.
 */
export type ResolvedCapabilities = { readonly [Flag in keyof Capabilities]-?: Capabilities[Flag] };

/** The capabilities of one provider's models. */
export interface CapabilityTable {
  /** The flags of the newest generation. */
  readonly newest: ResolvedCapabilities;
  /** Names of models that the table covers. Any other model also gets the flags in `unknown`. */
  readonly known?: RegExp;
  /**
   * Flags for models that the table does not cover, so that they are sent only what every current
   * model accepts.
   */
  readonly unknown?: Capabilities;
  /** How older models differ; the first row that matches the upstream's model name applies. */
  readonly older: readonly { readonly models: RegExp; readonly flags: Capabilities }[];
}

/**
 * Returns the flags of an upstream model: those of the table, overridden by those of its channel.
 */
export function capabilitiesOf(
  { newest, known, unknown, older }: CapabilityTable,
  upstreamModel: string,
  own: Capabilities | undefined,
): ResolvedCapabilities {
  const row = older.find(({ models }) => models.test(upstreamModel));
  const isKnown = row !== undefined || known === undefined || known.test(upstreamModel);
  return { ...newest, ...(isKnown ? row?.flags : unknown), ...defined(own) };
}

/** An override whose value is undefined changes nothing. */
function defined(own: Capabilities = {}): Capabilities {
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
}
