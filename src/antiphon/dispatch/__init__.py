"""From a reference to an answer: finds the models that a name stands for and falls back among them."""
