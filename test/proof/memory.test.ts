// suite: search
/** The memory quota store agrees with the model and is linearisable. */
import { proveQuotaStore } from './prove.ts';
import { memoryUnderTest } from './stores-under-test.ts';

proveQuotaStore(memoryUnderTest, { sequences: 300, histories: 8 });
