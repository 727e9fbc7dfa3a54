"""The dialect of Amazon Bedrock's Converse operations."""
