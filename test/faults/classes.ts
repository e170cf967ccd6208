/** What each class of failures comes to (FAULTS §4.1); rows name what they differ in. */
import { allMounts, type ExpectedOfKinds, type FaultRow, kinds } from './row.ts';

/** Every kind, over every mount. */
export const everywhere: Pick<FaultRow, 'kinds' | 'mounts'> = { kinds, mounts: allMounts };

/** No fault in the end. */
export const fine: ExpectedOfKinds = {
  told: 'reply',
  charge: 'usage',
  outcome: 'complete',
  reason: undefined,
  calls: 1,
  beside: 'same',
  health: 'none',
};

/** Class A: it surely did not run, so that every kind may be asked for elsewhere. */
export const notRun: ExpectedOfKinds = {
  told: 'upstream_failed',
  charge: 'nothing',
  outcome: 'not_run',
  reason: 'connect_refused',
  calls: 1,
  beside: 'second',
  health: 'counted',
};

/** Class B: it may have run, so that an image is never asked for again. */
export const mayHaveRun: ExpectedOfKinds = {
  told: 'upstream_failed',
  charge: 'nothing',
  outcome: 'unknown',
  reason: 'reset',
  calls: 1,
  beside: 'second',
  health: 'counted',
  image: { charge: 'pending', beside: 'same' },
};

/** Class B, but nobody is asked again: time is up. */
export const timedOut: ExpectedOfKinds = {
  ...mayHaveRun,
  told: 'upstream_timeout',
  reason: 'upstream_timeout',
  beside: 'same',
  health: 'timed_out',
};

/**
 * Class C: it was processed, and what came is no whole reply. Of a stream nobody had anything: that
 * costs nothing, and another channel is asked once.
 */
export const halfDone: ExpectedOfKinds = {
  told: 'upstream_failed',
  charge: 'observed',
  outcome: 'truncated',
  reason: 'upstream_truncated',
  calls: 1,
  beside: 'same',
  health: 'counted',
  image: { charge: 'pending', outcome: 'unknown' },
  streams: { charge: 'nothing', outcome: 'unknown', beside: 'second' },
};

/** The same of what holds no content: a page, half a frame, nothing. It costs nothing. */
export const noContent: ExpectedOfKinds = {
  ...halfDone,
  charge: 'nothing',
  outcome: 'unknown',
};

/** Class D: the caller's own fault. */
export const refused: ExpectedOfKinds = {
  told: 'invalid_request',
  charge: 'nothing',
  outcome: 'not_run',
  reason: 'upstream_refused',
  calls: 1,
  beside: 'same',
  health: 'none',
};

/** A stream that broke behind its first event. */
export const brokenStream: ExpectedOfKinds = {
  told: 'broken',
  charge: 'observed',
  outcome: 'broken',
  reason: 'upstream_stream_truncated',
  calls: 1,
  beside: 'same',
  health: 'counted',
};
