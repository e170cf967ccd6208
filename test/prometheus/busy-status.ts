/** The status of a gateway in which every gauge has a value. */
import type { GatewayStatus } from 'tollgate';

/** Three running calls, a waiting charge, and a quota store that was slow and failed once. */
export const busyStatus: GatewayStatus = {
  startedAtMs: 1_767_225_600_000,
  isClosing: false,
  runningCalls: 3,
  bufferedBytes: 0,
  openHolds: 2,
  outbox: { waiting: 1, oldestMs: 1_500 },
  ports: [
    {
      port: 'quota',
      operation: 'reserve',
      calls: 3,
      failures: 1,
      sumMs: 1_250,
      buckets: [
        { leMs: 2.5, count: 1 },
        { leMs: 100, count: 2 },
      ],
    },
  ],
};
