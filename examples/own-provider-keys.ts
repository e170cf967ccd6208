/** Users may bring their own OpenAI key; all others use the operator's account. */
import { type Channel, perKey } from 'tollgate';

/** The host's vault: the OpenAI key that a user has stored, decrypted. */
export interface Vault {
  openaiKeyOf(userId: string): Promise<string | undefined>;
}

/** Uses a user's own key if there is one. Its failures affect only this user. */
export function openaiChannel(baseUrl: string, operatorSecret: string, vault: Vault): Channel {
  return {
    id: 'openai',
    dialect: 'openai',
    baseUrl,
    credential: perKey(async ({ key }) => {
      const secret = await vault.openaiKeyOf(key.id);
      return secret === undefined ? operatorSecret : { secret, account: key.id };
    }),
  };
}

/** The same, for users with a key only: calls of all others use other channels. */
export function ownKeysOnly(baseUrl: string, vault: Vault): Channel {
  return {
    id: 'openai-own-keys',
    dialect: 'openai',
    baseUrl,
    credential: perKey(async ({ key }) => {
      const secret = await vault.openaiKeyOf(key.id);
      return secret === undefined ? undefined : { secret, account: key.id };
    }),
  };
}
