/**
 * The steps of `npm run verify`, in the order in which they begin: the long ones of one core early,
 * so that others of one core run beside them.
 */

const clients = 'vitest run --config test/clients/vitest.config.ts';
const fuzz = 'vitest run --config test/fuzz/vitest.config.ts';

/**
 * `cores` is how many of two a step keeps busy; none if it waits for the network. `after` are the
 * steps that it needs, and `report` is the name of the test report that it must leave.
 * @type {readonly { name: string, run: string, cores: number, after?: readonly string[], report?: string }[]}
 */
export const steps = [
  { name: 'install services', run: '.ci/install-services', cores: 0 },
  { name: 'install Node 22', run: '.ci/node 22', cores: 0 },
  { name: 'install Node 24', run: '.ci/node 24', cores: 0 },
  { name: 'install Node 26', run: '.ci/node 26', cores: 0 },
  { name: 'install clients', run: 'npm run install:clients', cores: 0 },
  { name: 'install OpenTelemetry', run: 'npm run install:opentelemetry', cores: 0 },
  { name: 'build', run: 'npm run build', cores: 1 },
  { name: 'lint', run: 'npm run lint', cores: 1, report: 'house-v20' },
  {
    name: 'console',
    run: 'npm run test:console',
    cores: 1,
    after: ['build', 'install services'],
    report: 'console-v20',
  },
  { name: 'types', run: 'npm run types', cores: 1 },
  { name: 'knip', run: 'npm run knip', cores: 1 },
  ...['20', '22', '24', '26'].map((version) => ({
    name: `fuzz on Node ${version}`,
    run: `.ci/on-node ${version} ${fuzz}`,
    cores: 1,
    after: version === '20' ? [] : [`install Node ${version}`],
    report: `fuzz-v${version}`,
  })),
  {
    name: 'OpenTelemetry',
    run: '.ci/on-node 24 npm run test:opentelemetry',
    cores: 1,
    after: ['install OpenTelemetry', 'install Node 24'],
    report: 'opentelemetry-v24',
  },
  {
    name: 'package',
    run: 'npm run check:package',
    cores: 2,
    after: ['build'],
    report: 'package-v20',
  },
  { name: 'bench', run: 'npm run bench:smoke', cores: 2, after: ['build'] },
  {
    name: 'searches',
    run: 'npm run test:searches',
    cores: 2,
    after: ['build'],
    report: 'searches-v20',
  },
  {
    name: 'services',
    run: 'npm run test:services',
    cores: 2,
    after: ['build', 'install services'],
    report: 'services-v20',
  },
  {
    name: 'kill',
    run: 'KILL_SECONDS=5 npm run test:kill',
    cores: 2,
    after: ['install services'],
    report: 'kill-v20',
  },
  {
    name: 'clients on Node 20',
    run: 'npm run test:clients',
    cores: 1,
    after: ['install clients'],
    report: 'clients-v20',
  },
  {
    name: 'clients on Node 24',
    run: `.ci/on-node 24 ${clients}`,
    cores: 1,
    after: ['install clients', 'install Node 24'],
    report: 'clients-v24',
  },
  ...['22', '24'].map((version) => ({
    name: `tests on Node ${version}`,
    run: `TEST_FORM=host .ci/on-node ${version} vitest run`,
    cores: 2,
    after: ['build', `install Node ${version}`],
    report: `host-v${version}`,
  })),
  {
    name: 'tests on Node 26',
    run: 'TEST_FORM=newest .ci/on-node 26 vitest run',
    cores: 2,
    after: ['build', 'install Node 26'],
    report: 'newest-v26',
  },
];
