/** What the tests use of LangChain 0.3's embeddings, whose packages are installed in this folder. */
export { GoogleGenerativeAIEmbeddings } from '@langchain/google-genai';
export { OpenAIEmbeddings } from '@langchain/openai';
