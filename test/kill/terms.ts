/** What the kill test and its processes agree on. */

/** The shortest lease a gateway takes: what dies is free again soon. */
export const leaseMs = 5_000;
/** Some dozens of calls: most callers spend their last nano, and are refused then. */
export const callerLimit = 6_000n;
/** The row that every call touches; it never runs dry. */
export const poolLimit = 1_000_000_000_000n;
/** How many calls are made in the name of one caller, more than its limit allows. */
export const callsPerCaller = 150;
/** The most an answer may have, so that no call costs more than was held. */
export const maxTokens = 50;
