/** Recognises that an upstream could not read encrypted content of a Responses request. */
import type { FailureReport } from '../tap.ts';

/**
 * The code is missing in some of these errors. Their message says that the content could not be
 * verified, decrypted or parsed (openai/codex#8145).
 */
export function refusesSealedContent({ status, code, message = '' }: FailureReport): boolean {
  if (status !== 400) return false;
  if (code === 'invalid_encrypted_content') return true;
  return /encrypted[ _]content/i.test(message) && /verif|decrypt|parse|invalid/i.test(message);
}
