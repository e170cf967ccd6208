// suite: search
/** F35, F36 and F38 of the fault matrix: replies of every kind, cut at every third byte. */
import { runMatrix } from './matrix.ts';
import { rowsCuts } from './rows/cuts.ts';

runMatrix('F35, F36, F38', rowsCuts);
