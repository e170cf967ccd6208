/** OpenAI's SDK over any embedding model of the gateway: finds the text nearest to a query. */
import OpenAI from 'openai';

/** A gateway, and who calls it. */
export interface GatewayAccount {
  /** With `/v1`: `http://localhost:3000/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
}

/** Returns the text whose vector is nearest to that of the query. */
export async function nearestText(
  account: GatewayAccount,
  model: string,
  query: string,
  texts: readonly string[],
): Promise<string | undefined> {
  const client = new OpenAI(account);
  // As many as fit into one call of OpenAI. The gateway splits it for models that take fewer.
  const { data } = await client.embeddings.create({
    model,
    input: [query, ...texts],
    dimensions: 768,
  });
  const [asked, ...vectors] = data.map(({ embedding }) => embedding);
  const scores = vectors.map((vector) => similarity(vector, asked ?? []));
  return texts[scores.indexOf(Math.max(...scores))];
}

/** The dot product, which is the cosine of the angle because both vectors have length one. */
function similarity(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
