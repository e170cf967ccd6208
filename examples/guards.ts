/** Guards: an allow-list of models, moderation, labels from the request and an audit of prompts. */
import type { Guard, GuardDecision, GuardedCall } from 'tollgate/ports';

/** Lets a group use some models with some members only. */
export const onlySmallModels: Guard = {
  check: ({ key, model }) =>
    key.group === 'trial' && model.id !== 'gpt-4o-mini'
      ? { refuse: 'Trial accounts may use gpt-4o-mini. Upgrade to use other models.' }
      : undefined,
};

/** Asks a moderation model before each call. */
export function moderation(isFlagged: (text: string) => Promise<boolean>): Guard {
  return {
    check: async ({ texts }) =>
      (await isFlagged(texts().join('\n')))
        ? { refuse: 'This request is against our terms of use. Rephrase it.' }
        : undefined,
  };
}

/** Puts the caller's own label, one of a few, into the usage record. */
export function labelsFrom(allowed: readonly string[]): Guard {
  return {
    check: ({ body }) => {
      const request = body();
      const metadata = memberOf(memberOf(request, 'metadata'), 'feature');
      const feature = allowed.find((name) => name === metadata);
      return feature === undefined ? undefined : { metadata: { feature } };
    },
  };
}

/** Keeps the prompts of users who have agreed to it; nobody else's is read. */
export function audit(
  hasAgreed: (keyId: string) => boolean,
  keep: (keyId: string, body: unknown) => Promise<void>,
): Guard {
  return {
    check: async ({ key, body }) => {
      if (hasAgreed(key.id)) await keep(key.id, body());
      return undefined;
    },
  };
}

/** Asks several guards, one after the other. The first refusal counts; labels add up. */
export function allOf(...guards: readonly Guard[]): Guard {
  return {
    check: async (call: GuardedCall): Promise<GuardDecision> => {
      let metadata: Readonly<Record<string, string>> = {};
      for (const guard of guards) {
        const decision = await guard.check(call);
        if (decision?.refuse !== undefined) return decision;
        metadata = { ...metadata, ...decision?.metadata };
      }
      return { metadata };
    },
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
