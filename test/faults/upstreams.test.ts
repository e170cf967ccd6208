// suite: slow host first
/**
 * The fault matrix, F01–F50: all faults of an upstream, on all mounts; in a sample each fault
 * with one kind of call, and a fifth of the cuts. Replies are cut at some bytes here, and at every
 * third in `cut-replies.test.ts`.
 */
import { isNewest, isWhole, someOf } from '../support/sample.ts';
import { runMatrix } from './matrix.ts';
import { rowsBefore } from './rows/before.ts';
import { rowsBodies } from './rows/bodies.ts';
import { sampledCuts } from './rows/cuts.ts';
import { rowsEmbeddings } from './rows/embeddings.ts';
import { rowsMessages } from './rows/messages.ts';
import { rowsResponses } from './rows/responses.ts';
import { rowsRetryAfter } from './rows/retry-after.ts';
import { rowsStatus } from './rows/status.ts';
import { rowsStreams } from './rows/streams.ts';

const rows = [
  ...rowsBefore,
  ...rowsStatus,
  ...rowsRetryAfter,
  ...rowsBodies,
  ...someOf(sampledCuts),
  ...rowsStreams,
  ...rowsResponses,
  ...rowsMessages,
  ...rowsEmbeddings,
];

runMatrix('F01–F50', rows, !isWhole && !isNewest);
