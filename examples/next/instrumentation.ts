/** Runs once when a server starts. */

/**
 * The condition has this form, because Next.js then leaves the import out of the build for the
 * Edge runtime.
 */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { closeOnSignal } = await import('./shut-down');
    closeOnSignal();
  }
}
