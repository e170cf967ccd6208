/** Runs clean-up before the process ends, also if it ends by a signal that nothing else handles. */

/**
 * The signals that end a process unless it handles them, except those that Node uses itself
 * (SIGUSR1, SIGPROF) and those of a crash, after which no code can run.
 */
const posixSignals = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGALRM',
  'SIGVTALRM',
  'SIGUSR2',
  'SIGXCPU',
] as const;
const windowsSignals = ['SIGHUP', 'SIGINT', 'SIGBREAK'] as const;

/** Calls a function before the process ends, perhaps more than once; it must not throw. */
export function beforeEnd(clean: () => void): void {
  process.on('exit', clean);
  const signals = process.platform === 'win32' ? windowsSignals : posixSignals;
  for (const signal of signals) {
    const end = (): void => {
      // Another listener handles this signal.
      if (process.listenerCount(signal) > 1) return;
      clean();
      process.off(signal, end);
      // Without a listener the signal has its default effect, so that the parent process sees it.
      process.kill(process.pid, signal);
    };
    // First in the list: a listener that removes itself while it handles the signal must still
    // count.
    process.prependListener(signal, end);
  }
}
