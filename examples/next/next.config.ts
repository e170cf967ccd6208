/** The configuration of the Next.js example: nothing that the gateway needs. */
const config = {};

export default config;
