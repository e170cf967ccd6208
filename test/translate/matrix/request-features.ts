/** What a request can ask for, in both protocols, and how each dialect says it upstream. */
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';

/** How the callers of one protocol ask for a feature. */
export interface AskedFor {
  /** What the request has beside, or in place of, a plain question. */
  readonly body: JsonObject;
  /** How refusals and `x-tollgate-dropped` may name it: these words begin the name. */
  readonly names: readonly string[];
}

/** One row of the matrix. */
export interface RequestFeature {
  readonly title: string;
  /** Absent if a protocol cannot express it. */
  readonly chat?: AskedFor;
  readonly native?: AskedFor;
  readonly responses?: AskedFor;
  readonly messages?: AskedFor;
  /** The part of the upstream's body that carries the meaning; a list has several spellings. */
  readonly carried: Readonly<Partial<Record<DialectName, JsonObject | readonly JsonObject[]>>>;
}

/** A single member on both sides. */
export interface PlainMember {
  readonly title: string;
  readonly chat: string;
  readonly native: string;
  readonly value: string | number | boolean | readonly string[];
  readonly carried: Readonly<Partial<Record<DialectName, JsonObject>>>;
}

/** The row of a single member; the native one stands in `generationConfig`. */
export function plainFeature({ title, chat, native, value, ...rest }: PlainMember): RequestFeature {
  return {
    title,
    chat: { body: { [chat]: value }, names: [chat] },
    native: {
      body: { generationConfig: { [native]: value } },
      names: [`generationConfig.${native}`],
    },
    ...rest,
  };
}
