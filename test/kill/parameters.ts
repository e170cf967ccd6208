/** The parameters that the kill test and its processes share. */

/** The shortest lease of a gateway, so that the holds of killed gateways expire soon. */
export const leaseMs = 5_000;
/** Enough for some dozens of calls, so that most callers use up their limit and are refused. */
export const callerLimit = 6_000n;
/** The limit of the row that every call uses; it is never reached. */
export const poolLimit = 1_000_000_000_000n;
/** How many calls each caller makes: more than its limit allows. */
export const callsPerCaller = 150;
/** The maximum output of a reply, so that no call costs more than its hold. */
export const maxTokens = 50;
