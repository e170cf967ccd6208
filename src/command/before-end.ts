/** Does something before the process ends, also when a signal ends it that nothing handles. */

/**
 * The signals that end a process unless it catches them. Node keeps SIGUSR1 and SIGPROF for itself,
 * and after a crash no code can run.
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
      // Another listener decides what this signal means.
      if (process.listenerCount(signal) > 1) return;
      clean();
      process.off(signal, end);
      // Without a listener it does what it does by default, so that the parent sees the signal.
      process.kill(process.pid, signal);
    };
    // Before others, because one that acts on the first signal only removes itself at that one.
    process.prependListener(signal, end);
  }
}
