"""The description of the public API, as an OpenAPI 3.1 document."""
