/**
 * Reports what `.ci/run` ran: `node .ci/report.mjs <folder>`, from vitest's reports and the times
 * of the steps in it. Exits with 1 if a step or a test failed, a file ran no test, or a step did
 * not run or left no test report.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { steps } from './steps.mjs';

const [folder = ''] = process.argv.slice(2);
const log = join(folder, 'steps.jsonl');
const times = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(parse) : [];
const reports = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .sort()
  .map((name) => countOf(name, parse(readFileSync(join(folder, name), 'utf8'))));

console.log('\nSeconds of each step');
for (const { step, seconds } of times) console.log(`${String(seconds).padStart(6)}  ${step}`);

console.log('\nSeconds of the twenty most expensive files');
const files = reports.flatMap((report) => report.files).sort((a, b) => b.seconds - a.seconds);
for (const { seconds, tests, name } of files.slice(0, 20)) {
  console.log(`${seconds.toFixed(1).padStart(6)}  ${name}, ${tests} tests`);
}

console.log('\nTests');
const expected = [{ name: 'npm ci' }, { name: 'npm test', report: 'tests-v20' }, ...steps];
const problems = [
  ...reports.flatMap((report) => report.problems),
  ...times.filter(({ status }) => status !== 0).map(({ step }) => `the step failed: ${step}`),
  ...expected
    .filter(({ name }) => !times.some(({ step }) => step === name))
    .map(({ name }) => `the step did not run: ${name}`),
  ...expected
    .filter(({ report }) => report && !reports.some(({ name }) => name.startsWith(`${report}.`)))
    .map(({ name }) => `the step left no test report: ${name}`),
];
for (const { name, passed } of reports) console.log(`${String(passed).padStart(6)}  ${name}`);
for (const problem of problems) console.log(problem);

const passed = reports.reduce((total, report) => total + report.passed, 0);
console.log(`\n${passed} passed, ${problems.length} failed`);
process.exitCode = problems.length === 0 ? 0 : 1;

function parse(text) {
  return JSON.parse(text);
}

/** Problems are failed tests, files that failed without one, and files that ran no test. */
function countOf(name, report) {
  const problems = report.testResults.flatMap((file) => {
    const ran = file.assertionResults.filter(({ status }) => /^(?:passed|failed)$/.test(status));
    const lost = ran.filter(({ status }) => status === 'failed');
    if (lost.length > 0) return lost.map(({ fullName }) => `failed: ${fullName} (${name})`);
    if (file.status !== 'passed') return [`failed: ${file.name} (${name})`];
    return ran.length === 0 ? [`ran no test: ${file.name} (${name})`] : [];
  });
  if (report.testResults.length === 0) problems.push(`ran no test: ${name}`);
  if (!report.success && problems.length === 0) problems.push(`failed outside tests: ${name}`);
  const files = report.testResults.map((file) => ({
    name: `${file.name.replace(/^.*?\/(?=test\/)/, '')} (${name.replace(/\.\d.*/, '')})`,
    tests: file.assertionResults.length,
    seconds: (file.endTime - file.startTime) / 1_000,
  }));
  return { name, passed: report.numPassedTests, problems, files };
}
