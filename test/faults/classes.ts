/** The expected results of each class of failures; rows override what differs. */
import { kinds } from './kinds.ts';
import { allMounts, type ExpectedOfKinds, type FaultRow } from './rows/row.ts';

/** Every kind on every mount. */
export const everywhere: Pick<FaultRow, 'kinds' | 'mounts'> = { kinds, mounts: allMounts };

/** The call succeeds. */
export const fine: ExpectedOfKinds = {
  callerGets: 'reply',
  charge: 'usage',
  outcome: 'complete',
  reason: undefined,
  calls: 1,
  withSecond: 'same',
  health: 'none',
};

/** It did not run, so every kind may be tried on another channel. */
export const notRun: ExpectedOfKinds = {
  callerGets: 'upstream_failed',
  charge: 'nothing',
  outcome: 'not_run',
  reason: 'connect_refused',
  calls: 1,
  withSecond: 'second',
  health: 'counted',
};

/** It may have run, so an image is never sent again. */
export const mayHaveRun: ExpectedOfKinds = {
  callerGets: 'upstream_failed',
  charge: 'nothing',
  outcome: 'unknown',
  reason: 'reset',
  calls: 1,
  withSecond: 'second',
  health: 'counted',
  image: { charge: 'pending', withSecond: 'same' },
};

/** It may have run, and no other channel is tried, because time is up. */
export const timedOut: ExpectedOfKinds = {
  ...mayHaveRun,
  callerGets: 'upstream_timeout',
  reason: 'upstream_timeout',
  withSecond: 'same',
  health: 'timed_out',
};

/**
 * It was processed, and the reply is not complete. Of a stream the caller has received nothing, so
 * it costs nothing, and one other channel is tried, as it is for embeddings: they change nothing
 * upstream.
 */
export const halfDone: ExpectedOfKinds = {
  callerGets: 'upstream_failed',
  charge: 'observed',
  outcome: 'truncated',
  reason: 'upstream_truncated',
  calls: 1,
  withSecond: 'same',
  health: 'counted',
  image: { charge: 'pending', outcome: 'unknown' },
  embeddings: { withSecond: 'second' },
  streams: { charge: 'nothing', outcome: 'unknown', withSecond: 'second' },
};

/** The same for a reply without content: half a frame, nothing. It costs nothing. */
export const noContent: ExpectedOfKinds = {
  ...halfDone,
  charge: 'nothing',
  outcome: 'unknown',
};

/** The caller's own mistake. */
export const refused: ExpectedOfKinds = {
  callerGets: 'invalid_request',
  charge: 'nothing',
  outcome: 'not_run',
  reason: 'upstream_refused',
  calls: 1,
  withSecond: 'same',
  health: 'none',
};

/** A stream that broke after its first event. */
export const brokenStream: ExpectedOfKinds = {
  callerGets: 'broken',
  charge: 'observed',
  outcome: 'broken',
  reason: 'upstream_stream_truncated',
  calls: 1,
  withSecond: 'same',
  health: 'counted',
};
