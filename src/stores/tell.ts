/** How a sink tells its host what went wrong, with the host's own mistakes kept out of it. */

/**
 * Calls a listener of the host at once. What it throws, or rejects with later, is swallowed: it
 * must neither end the process nor hold up what waits to be written.
 */
export async function tell(listener: () => unknown): Promise<void> {
  try {
    await listener();
  } catch {
    // Nobody is left to tell: telling is what failed.
  }
}
