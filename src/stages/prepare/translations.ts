/**
 * Loads what translations need, at the first call that is translated: most gateways relay all or
 * nearly all of their calls, and the codecs are a third of the code.
 */
import type { Dialect, DialectCodecs } from '../../dialects/dialect.ts';
import type { DialectTable } from '../../dialects/table.ts';
import { GatewayError } from '../../errors.ts';
import type { Protocol, ProtocolCodecs } from '../../protocols/protocol.ts';
import type { ProtocolTable } from '../../protocols/table.ts';
import type { callTranslator } from './call-translator.ts';

export interface LoadedTranslation {
  readonly translatorOf: typeof callTranslator;
  readonly server: ProtocolCodecs;
  readonly client: DialectCodecs;
}

export interface TranslationTables {
  readonly protocols: ProtocolTable;
  readonly dialects: DialectTable;
}

export interface Translations {
  /**
   * Loads a translation; undefined if it is loaded.
   *
   * @throws GatewayError `overloaded` if it can't be loaded; then it may be tried again
   */
  load(protocol: Protocol, dialect: Dialect): Promise<void> | undefined;
  /** Loads all translations between them. Rejects with what a module threw while it was loaded. */
  loadAll(tables: TranslationTables): Promise<void>;
  loaded(protocol: Protocol, dialect: Dialect): LoadedTranslation;
}

/** Creates an empty list. `report` gets what a module threw while it was loaded. */
export function translations(report: (error: unknown) => void): Translations {
  // Weak, because each channel on a platform has a dialect of its own.
  const known = new Map<Protocol, WeakMap<Dialect, LoadedTranslation>>();
  const find = (protocol: Protocol, dialect: Dialect) => known.get(protocol)?.get(dialect);
  const loadOne = async (protocol: Protocol, dialect: Dialect): Promise<void> => {
    const [{ callTranslator: translatorOf }, server, client] = await Promise.all([
      import('./call-translator.ts'),
      protocol.codecs(),
      dialect.codecs(),
    ]);
    const byDialect = known.get(protocol) ?? new WeakMap<Dialect, LoadedTranslation>();
    known.set(protocol, byDialect.set(dialect, { translatorOf, server, client }));
  };
  return {
    load: (protocol, dialect) => {
      if (find(protocol, dialect) !== undefined) return undefined;
      return loadOne(protocol, dialect).catch((error: unknown) => {
        report(error);
        throw notLoaded();
      });
    },
    loadAll: async ({ protocols, dialects }) => {
      const present = Object.values(dialects).filter((dialect) => dialect !== undefined);
      const pairs = Object.values(protocols).flatMap((protocol) =>
        present.map((dialect) => loadOne(protocol, dialect)),
      );
      await Promise.all(pairs);
    },
    loaded: (protocol, dialect) => {
      const translation = find(protocol, dialect);
      if (translation === undefined) throw notLoaded();
      return translation;
    },
  };
}

function notLoaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'This gateway could not load what it needs to translate the call. Try again later.',
  );
}
