"""The migrations, each from one released schema to the next."""
