"""The dialect of text-embeddings-inference: ranking. Its embeddings are asked for in OpenAI's."""
