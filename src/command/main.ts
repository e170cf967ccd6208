#!/usr/bin/env node
/** The program `tollgate`: connects the commands to the process, which is theirs alone. */
import { systemClock } from '../clock.ts';
import { commands } from './commands.ts';
import { runProgram } from './program.ts';

process.exitCode = await runProgram(process.argv.slice(2), commands, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock(),
  onSignal: (signal, listener) => {
    process.on(signal, listener);
    return () => process.off(signal, listener);
  },
});
