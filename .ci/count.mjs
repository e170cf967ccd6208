/**
 * Adds up vitest's JSON reports: `node .ci/count.mjs <folder> <ok|failed>`; the second argument is
 * the outcome of the steps. Exits with 1 if a test failed, a file ran no test, or a suite is
 * missing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '', steps] = process.argv.slice(2);
const suites = [
  'house-v20.',
  'package-v20.',
  'generators-v20.',
  'services-v20.',
  'kill-v20.',
  'console-v20.',
].concat(['20', '22', '24', '26'].map((version) => `tests-v${version}.`));
/** These need Redis or PostgreSQL: `npm test` skips them, the suite `services` must not. */
const needsServices = /\/test\/(?:stores|proof)\/(?:redis|postgres)/;

const reports = readdirSync(folder)
  .sort()
  .map((name) => countOf(name, JSON.parse(readFileSync(join(folder, name), 'utf8'))));

for (const { name, passed, problems } of reports) {
  console.log(`${name}: ${passed} passed`);
  for (const problem of problems) console.log(`  ${problem}`);
}

const missing = suites.filter((suite) => !reports.some(({ name }) => name.startsWith(suite)));
for (const suite of missing) console.log(`${suite}*: did not run`);

const passed = sum(reports.map((report) => report.passed));
const broken = sum(reports.map(({ problems }) => problems.length));
const failed = broken > 0 ? broken : steps === 'ok' ? missing.length : 1;
if (steps !== 'ok') console.log('A step failed, so the steps after it did not run: see above.');

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Problems are failed tests, files that failed without one, and files that ran no test. */
function countOf(name, report) {
  const problems = report.testResults.flatMap((file) => {
    const ran = file.assertionResults.filter(({ status }) => /^(?:passed|failed)$/.test(status));
    const lost = ran.filter(({ status }) => status === 'failed');
    if (lost.length > 0) return lost.map(({ fullName }) => `failed: ${fullName}`);
    if (file.status !== 'passed') return [`failed: ${file.name}`];
    const maySkip = name.startsWith('tests-') && needsServices.test(file.name);
    return ran.length === 0 && !maySkip ? [`ran no test: ${file.name}`] : [];
  });
  if (report.testResults.length === 0) problems.push('ran no test');
  if (!report.success && problems.length === 0) problems.push('failed outside of its tests');
  return { name, passed: report.numPassedTests, problems };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
